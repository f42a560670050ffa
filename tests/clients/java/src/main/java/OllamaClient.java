import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.ollama.OllamaChatModel;
import dev.langchain4j.model.ollama.OllamaStreamingChatModel;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** LangChain4j's client of Ollama: it streams with requests that have no content type. */
public class OllamaClient {
  static final String SUNNY = "It is sunny.";

  public static void main(String[] args) throws Exception {
    var whole = OllamaChatModel.builder().baseUrl(args[0]).modelName("script").build();
    check(whole.chat("How is the weather?"));
    var streaming = OllamaStreamingChatModel.builder().baseUrl(args[0]).modelName("script").build();
    var done = new CompletableFuture<String>();
    streaming.chat("How is the weather?", new StreamingChatResponseHandler() {
      @Override
      public void onPartialResponse(String piece) {}

      @Override
      public void onCompleteResponse(ChatResponse response) {
        done.complete(response.aiMessage().text());
      }

      @Override
      public void onError(Throwable error) {
        done.completeExceptionally(error);
      }
    });
    check(done.get(60, TimeUnit.SECONDS));
  }

  static void check(String text) {
    if (!text.equals(SUNNY)) throw new AssertionError(text);
  }
}
