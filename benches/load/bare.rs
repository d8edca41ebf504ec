//! A server that does nothing but answer: what the generated code does for a service whose one method gives a copy of
//! a prebuilt answer.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    path::Path,
    pin::Pin,
    task::{Context, Poll},
};

use promptd_contract::proto::{AssemblePromptRequest, AssemblePromptResponse};
use prost::Message as _;
use tokio::net::TcpListener;
use tonic::{
    Request, Response, Status,
    body::Body,
    codegen::{Service, http},
    server::{Grpc, NamedService, UnaryService},
    transport::server::TcpIncoming,
};
use tonic_prost::ProstCodec;

/// Answers every call of its one method with the same.
#[derive(Clone)]
pub struct Bare(std::sync::Arc<AssemblePromptResponse>);

impl NamedService for Bare {
    const NAME: &'static str = "promptd.v1.PromptService";
}

impl UnaryService<AssemblePromptRequest> for Bare {
    type Response = AssemblePromptResponse;
    type Future = Ready<Result<Response<Self::Response>, Status>>;

    fn call(&mut self, _: Request<AssemblePromptRequest>) -> Self::Future {
        ready(Ok(Response::new(AssemblePromptResponse::clone(&self.0))))
    }
}

impl Service<http::Request<Body>> for Bare {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let method = self.clone();
        Box::pin(async move { Ok(Grpc::new(ProstCodec::default()).unary(method, request).await) })
    }
}

/// Serves the encoded answer in the file, until it is killed.
pub async fn serve_file(answer: &Path) {
    let answer = AssemblePromptResponse::decode(&*std::fs::read(answer).unwrap()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("bare listening on {}", listener.local_addr().unwrap());
    serve(listener, answer).await;
}

/// The service alone.
pub fn service(answer: AssemblePromptResponse) -> Bare {
    Bare(answer.into())
}

/// Serves an answer.
pub async fn serve(listener: TcpListener, answer: AssemblePromptResponse) {
    tonic::transport::Server::builder()
        .add_service(service(answer))
        .serve_with_incoming(TcpIncoming::from(listener).with_nodelay(Some(true)))
        .await
        .unwrap();
}
