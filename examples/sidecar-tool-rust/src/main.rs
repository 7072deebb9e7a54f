//! `echo`: a tool that says again what it is told.

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use serde_json::{json, Value};
use sidecar::contract::tool_service_server::{ToolService, ToolServiceServer};
use sidecar::contract::{
    Empty, ModuleInfo, ModuleType, ToolExecuteRequest, ToolExecuteResponse, ToolSpec,
};
use sidecar::{obey, Cancellations, Lifecycle, Module, Reply, MAX_MESSAGE_BYTES};
use tonic::service::Routes;
use tonic::{Request, Response, Status};

#[derive(Default)]
struct Echo {
    prefix: Mutex<String>,
    cancellations: Cancellations,
}

impl Module for Echo {
    fn info(&self) -> ModuleInfo {
        ModuleInfo {
            name: "echo".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            module_type: ModuleType::Tool.into(),
            ..Default::default()
        }
    }

    fn configure(&self, mut config: HashMap<String, String>) -> Result<(), String> {
        *self.prefix.lock().unwrap() = config.remove("prefix").unwrap_or_default();
        Ok(())
    }
}

impl Echo {
    async fn answer(&self, input: &[u8]) -> Result<Value, String> {
        let input: Value = serde_json::from_slice(input)
            .map_err(|why| format!("The input is no JSON: {why}."))?;
        let text = input["text"]
            .as_str()
            .ok_or("The input has no `text`. Add one.")?;
        let said = match obey(text, &self.cancellations).await {
            Reply::Usual => format!("{}{text}", self.prefix.lock().unwrap()),
            Reply::Say(said) => said,
            Reply::Fail(why) => return Err(why),
        };
        Ok(json!({"text": said, "length": text.chars().count()}))
    }
}

/// The server's part of an `Echo`.
struct Tool(Arc<Echo>);

#[tonic::async_trait]
impl ToolService for Tool {
    async fn get_spec(&self, _: Request<Empty>) -> Result<Response<ToolSpec>, Status> {
        let parameters = json!({
            "type": "object",
            "properties": {"text": {"type": "string", "description": "What to say."}},
            "required": ["text"],
        });
        Ok(Response::new(ToolSpec {
            name: "echo".into(),
            description: "Says `text` again, and how many characters it has.".into(),
            parameters_json: parameters.to_string(),
        }))
    }

    async fn execute(
        &self,
        call: Request<ToolExecuteRequest>,
    ) -> Result<Response<ToolExecuteResponse>, Status> {
        let answer = match self.0.answer(&call.get_ref().input).await {
            Ok(output) => ToolExecuteResponse {
                success: true,
                output: output.to_string().into_bytes(),
                content_type: "application/json".into(),
                ..Default::default()
            },
            Err(error) => ToolExecuteResponse {
                error,
                ..Default::default()
            },
        };
        Ok(Response::new(answer))
    }
}

fn main() -> ExitCode {
    let echo = Arc::new(Echo::default());
    let tool =
        ToolServiceServer::new(Tool(echo.clone())).max_decoding_message_size(MAX_MESSAGE_BYTES);
    sidecar::run(Routes::new(tool).add_service(Lifecycle::of(&echo)))
}
