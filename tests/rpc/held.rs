//! A call that stays in flight until the test lets it go on: its message is sent only then.

use promptd_contract::proto;
use tokio::{sync::mpsc, task::JoinHandle};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, codegen::http::uri::PathAndQuery, transport::Channel};
use tonic_prost::ProstCodec;

type Answer = Result<Response<proto::AssemblePromptResponse>, Status>;

pub struct Held {
    message: mpsc::Sender<proto::AssemblePromptRequest>,
    pub answer: JoinHandle<Answer>,
}

impl Held {
    /// Begins `AssemblePrompt`: headers, and nothing after them.
    pub fn begin(channel: Channel) -> Self {
        let (message, messages) = mpsc::channel(1);
        let answer = tokio::spawn(async move {
            let mut client = tonic::client::Grpc::new(channel);
            client.ready().await.unwrap();
            let codec: ProstCodec<proto::AssemblePromptRequest, proto::AssemblePromptResponse> = ProstCodec::default();
            let path = PathAndQuery::from_static("/promptd.v1.PromptService/AssemblePrompt");
            client.client_streaming(Request::new(ReceiverStream::new(messages)), path, codec).await
        });
        Self { message, answer }
    }

    /// Sends the message.
    pub async fn go_on(self, message: proto::AssemblePromptRequest) -> Answer {
        self.message.send(message).await.unwrap();
        drop(self.message);
        self.answer.await.unwrap()
    }
}
