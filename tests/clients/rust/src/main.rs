//! rig's client of Anthropic lists models, each with its display name.
//!
//!     ANTHROPIC_API_KEY=none ANTHROPIC_BASE_URL=URL cargo run
use rig_core::providers::anthropic::Anthropic;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let models = Anthropic::from_env()?.list_models().await?;
    let shown = format!("{models:?}");
    assert!(shown.contains("gpt-4o-mini"), "{shown}");
    Ok(())
}
