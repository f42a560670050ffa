// Ollama's client for Go: log-probabilities, an alias in the list, the version.
//
//	go run . URL
package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"

	"github.com/ollama/ollama/api"
)

func main() {
	base, err := url.Parse(os.Args[1])
	fail(err)
	client := api.NewClient(base, http.DefaultClient)
	ctx := context.Background()
	version, err := client.Version(ctx)
	fail(err)
	check(version >= "0.13.4", version)
	list, err := client.List(ctx)
	fail(err)
	names := map[string]bool{}
	for _, model := range list.Models {
		names[model.Name] = true
	}
	check(names["script:latest"] && names["gpt-4o-mini:latest"], names)
	stream := false
	asked := &api.ChatRequest{
		Model:       "script",
		Messages:    []api.Message{{Role: "user", Content: "How is the weather?"}},
		Stream:      &stream,
		Logprobs:    true,
		TopLogprobs: 2,
	}
	fail(client.Chat(ctx, asked, func(answer api.ChatResponse) error {
		check(answer.Message.Content == "It is sunny.", answer.Message.Content)
		check(len(answer.Logprobs) == 1 && len(answer.Logprobs[0].TopLogprobs) == 2, answer.Logprobs)
		check(answer.Logprobs[0].Token == "It is sunny.", answer.Logprobs)
		return nil
	}))
}

func fail(err error) {
	check(err == nil, err)
}

func check(holds bool, what any) {
	if !holds {
		fmt.Fprintln(os.Stderr, what)
		os.Exit(1)
	}
}
