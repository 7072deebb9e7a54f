//! `gatekeeper`: a hook that denies what speaks of a forbidden word.

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use serde_json::{json, Value};
use sidecar::contract::hook_service_server::{HookService, HookServiceServer};
use sidecar::contract::{
    EventSubscription, GetSubscriptionsRequest, GetSubscriptionsResponse, HookAction,
    HookHandleRequest, HookResult, ModuleInfo, ModuleType,
};
use sidecar::{obey, Cancellations, Lifecycle, Module, Reply, MAX_MESSAGE_BYTES};
use tonic::service::Routes;
use tonic::{Request, Response, Status};

struct Gatekeeper {
    forbidden: Mutex<String>,
    cancellations: Cancellations,
}

impl Module for Gatekeeper {
    fn info(&self) -> ModuleInfo {
        ModuleInfo {
            name: "gatekeeper".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            module_type: ModuleType::Hook.into(),
            ..Default::default()
        }
    }

    fn configure(&self, mut config: HashMap<String, String>) -> Result<(), String> {
        let word = config.remove("forbid").unwrap_or_else(|| "secret".into());
        if word.is_empty() {
            return Err("`forbid` is empty, which is in every text. Name a word.".into());
        }
        *self.forbidden.lock().unwrap() = word;
        Ok(())
    }
}

impl Gatekeeper {
    async fn judge(&self, mut data: Value) -> Result<HookResult, Status> {
        let text = data["tool_input"]["text"].as_str().unwrap_or("").to_owned();
        if let Some(other) = text.strip_prefix("!modify ") {
            data["tool_input"]["text"] = other.into();
            return Ok(modify(&data));
        }
        if let Some(remark) = text.strip_prefix("!inject ") {
            return Ok(inject(remark));
        }
        match obey(&text, &self.cancellations).await {
            Reply::Fail(why) => Err(Status::invalid_argument(why)),
            Reply::Say(said) => Ok(deny(said)),
            Reply::Usual => Ok(self.verdict(&text)),
        }
    }

    fn verdict(&self, text: &str) -> HookResult {
        let word = self.forbidden.lock().unwrap();
        if text.contains(word.as_str()) {
            return deny(format!("forbidden: {word}"));
        }
        answer(HookAction::Continue)
    }
}

fn answer(action: HookAction) -> HookResult {
    HookResult {
        action: action.into(),
        ..Default::default()
    }
}

fn deny(reason: String) -> HookResult {
    HookResult {
        reason,
        ..answer(HookAction::Deny)
    }
}

fn modify(data: &Value) -> HookResult {
    HookResult {
        data_json: data.to_string(),
        ..answer(HookAction::Modify)
    }
}

fn inject(remark: &str) -> HookResult {
    HookResult {
        context_injection: remark.into(),
        ..answer(HookAction::InjectContext)
    }
}

/// The server's part of a `Gatekeeper`.
struct Hook(Arc<Gatekeeper>);

#[tonic::async_trait]
impl HookService for Hook {
    async fn get_subscriptions(
        &self,
        call: Request<GetSubscriptionsRequest>,
    ) -> Result<Response<GetSubscriptionsResponse>, Status> {
        let config: Value = serde_json::from_str(&call.get_ref().config_json).unwrap_or(json!({}));
        let wanted = EventSubscription {
            event: config["event"].as_str().unwrap_or("tool:pre").into(),
            priority: config["priority"].as_i64().unwrap_or(0) as i32,
            name: "gatekeeper".into(),
        };
        Ok(Response::new(GetSubscriptionsResponse {
            subscriptions: vec![wanted],
        }))
    }

    async fn handle(
        &self,
        call: Request<HookHandleRequest>,
    ) -> Result<Response<HookResult>, Status> {
        let data = serde_json::from_str(&call.get_ref().data_json)
            .map_err(|why| Status::invalid_argument(format!("The event is no JSON: {why}.")))?;
        Ok(Response::new(self.0.judge(data).await?))
    }
}

fn main() -> ExitCode {
    let gatekeeper = Arc::new(Gatekeeper {
        forbidden: Mutex::new("secret".into()),
        cancellations: Cancellations::default(),
    });
    let hook = HookServiceServer::new(Hook(gatekeeper.clone()))
        .max_decoding_message_size(MAX_MESSAGE_BYTES);
    sidecar::run(Routes::new(hook).add_service(Lifecycle::of(&gatekeeper)))
}
