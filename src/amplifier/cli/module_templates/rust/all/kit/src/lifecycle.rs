//! The service that brings a module its config, and asks how it is.

use std::collections::HashMap;

use tonic::{Request, Response, Status};

use crate::contract::module_lifecycle_server::{ModuleLifecycle, ModuleLifecycleServer};
use crate::contract::{
    Empty, HealthCheckResponse, HealthStatus, ModuleInfo, ModuleType, MountRequest, MountResponse,
};

/// What the mount plan says to the module: texts as they are, all else as JSON.
pub type Config = HashMap<String, String>;

type Configure = dyn Fn(Config) -> Result<(), String> + Send + Sync;

/// A module as its host sees it.
pub struct Lifecycle {
    info: ModuleInfo,
    configure: Box<Configure>,
}

impl Lifecycle {
    /// `configure` takes the config, before anything else is asked; an error refuses it.
    pub fn of(
        name: &str,
        kind: &str,
        configure: impl Fn(Config) -> Result<(), String> + Send + Sync + 'static,
    ) -> ModuleLifecycleServer<Self> {
        let info = ModuleInfo {
            id: name.into(),
            name: name.into(),
            module_type: type_of(kind).into(),
            mount_point: kind.into(),
            ..Default::default()
        };
        let configure = Box::new(configure);
        ModuleLifecycleServer::new(Self { info, configure })
    }
}

fn type_of(kind: &str) -> ModuleType {
    match kind {
        "tool" => ModuleType::Tool,
        "provider" => ModuleType::Provider,
        "hook" => ModuleType::Hook,
        "context" => ModuleType::Memory,
        "approval" => ModuleType::Approval,
        _ => ModuleType::Unspecified,
    }
}

#[tonic::async_trait]
impl ModuleLifecycle for Lifecycle {
    async fn mount(&self, call: Request<MountRequest>) -> Result<Response<MountResponse>, Status> {
        let refused = (self.configure)(call.into_inner().config).err();
        Ok(Response::new(MountResponse {
            success: refused.is_none(),
            error: refused.unwrap_or_default(),
            status: HealthStatus::Serving.into(),
        }))
    }

    async fn cleanup(&self, _: Request<Empty>) -> Result<Response<Empty>, Status> {
        Ok(Response::new(Empty {}))
    }

    async fn health_check(
        &self,
        _: Request<Empty>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        Ok(Response::new(HealthCheckResponse {
            status: HealthStatus::Serving.into(),
            message: String::new(),
        }))
    }

    async fn get_module_info(&self, _: Request<Empty>) -> Result<Response<ModuleInfo>, Status> {
        Ok(Response::new(self.info.clone()))
    }
}
