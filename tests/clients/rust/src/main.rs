//! rig's client of Anthropic lists models, each with its display name; ollama-rs makes schemas of Rust's types, whose
//! formats ("uint8") are no one else's.
//!
//!     ANTHROPIC_API_KEY=none ANTHROPIC_BASE_URL=URL cargo run URL
use ollama_rs::generation::chat::{request::ChatMessageRequest, ChatMessage};
use ollama_rs::generation::parameters::{FormatType, JsonSchema, JsonStructure};
use ollama_rs::Ollama;
use rig_core::providers::anthropic::Anthropic;
use serde::Deserialize;

#[derive(JsonSchema, Deserialize)]
struct Person {
    name: String,
    age: u8,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let models = Anthropic::from_env()?.list_models().await?;
    let shown = format!("{models:?}");
    assert!(shown.contains("gpt-4o-mini"), "{shown}");

    let url = std::env::args().nth(1).expect("a URL");
    let format = FormatType::StructuredJson(Box::new(JsonStructure::new::<Person>()));
    let asked = vec![ChatMessage::user("Who?#".into())];
    let request = ChatMessageRequest::new("script".into(), asked).format(format);
    let answer = Ollama::try_new(url)?.send_chat_messages(request).await?;
    let person: Person = serde_json::from_str(&answer.message.content)?;
    assert_eq!((person.name.as_str(), person.age), ("Ada", 36));
    Ok(())
}
