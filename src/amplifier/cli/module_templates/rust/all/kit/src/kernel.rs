//! The session that started this module: its tools, providers, hooks and messages.

use std::env::var;

use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::interceptor::InterceptedService;
use tonic::service::Interceptor;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};

use crate::contract::kernel_service_client::KernelServiceClient;
use crate::MAX_MESSAGE_BYTES;

/// What the session is asked through.
pub type Kernel = KernelServiceClient<InterceptedService<Channel, Token>>;

/// Adds the session's secret to every call.
#[derive(Clone)]
pub struct Token(MetadataValue<Ascii>);

impl Interceptor for Token {
    fn call(&mut self, mut call: Request<()>) -> Result<Request<()>, Status> {
        call.metadata_mut()
            .insert("x-amplifier-token", self.0.clone());
        Ok(call)
    }
}

/// Reach the session.
pub async fn kernel() -> Result<Kernel, Status> {
    let unreachable = |why: String| Status::unavailable(why);
    let place = var("AMPLIFIER_KERNEL_ENDPOINT")
        .map_err(|_| unreachable("The host does not let this module call back.".into()))?;
    let token = var("AMPLIFIER_AUTH_TOKEN").unwrap_or_default();
    let token = MetadataValue::try_from(token).map_err(|why| unreachable(why.to_string()))?;
    let endpoint = Endpoint::from_shared(format!("http://{place}"))
        .map_err(|why| unreachable(why.to_string()))?;
    let channel = endpoint.connect().await.map_err(|why| unreachable(why.to_string()))?;
    let client = KernelServiceClient::with_interceptor(channel, Token(token));
    Ok(client.max_decoding_message_size(MAX_MESSAGE_BYTES))
}
