//! The service that brings a module its config, and asks how it is.

use std::collections::HashMap;
use std::sync::Arc;

use tonic::{Request, Response, Status};

use crate::contract::module_lifecycle_server::{ModuleLifecycle, ModuleLifecycleServer};
use crate::contract::{
    Empty, HealthCheckResponse, HealthStatus, ModuleInfo, MountRequest, MountResponse,
};

/// A module as its host sees it.
pub trait Module: Send + Sync + 'static {
    fn info(&self) -> ModuleInfo;

    /// Take the config: texts as they are, everything else as JSON. An error refuses it.
    fn configure(&self, config: HashMap<String, String>) -> Result<(), String>;
}

pub struct Lifecycle<M>(Arc<M>);

impl<M: Module> Lifecycle<M> {
    pub fn of(module: &Arc<M>) -> ModuleLifecycleServer<Self> {
        ModuleLifecycleServer::new(Self(module.clone()))
    }
}

#[tonic::async_trait]
impl<M: Module> ModuleLifecycle for Lifecycle<M> {
    async fn mount(&self, call: Request<MountRequest>) -> Result<Response<MountResponse>, Status> {
        let refused = self.0.configure(call.into_inner().config).err();
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
        Ok(Response::new(self.0.info()))
    }
}
