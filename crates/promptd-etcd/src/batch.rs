//! Writes that need not be done together, in as few transactions as take them.

use crate::{
    client::{Client, MAX_OPERATIONS, MAX_REQUEST_BYTES, put},
    error::Error,
    proto::request_op,
};

/// What an operation of a transaction takes besides its key and value, at most.
pub(crate) const OPERATION_BYTES: usize = 64;

/// Writes that wait for a transaction.
pub(crate) struct Batch<'c> {
    client: &'c Client,
    waiting: Vec<request_op::Request>,
    size: usize,
}

impl<'c> Batch<'c> {
    pub(crate) fn new(client: &'c Client) -> Self {
        Self { client, waiting: Vec::new(), size: 0 }
    }

    /// Writes a key, now or by [`Batch::finish`].
    pub(crate) async fn put(&mut self, key: Vec<u8>, value: Vec<u8>) -> Result<(), Error> {
        let added = key.len() + value.len() + OPERATION_BYTES;
        if self.waiting.len() == MAX_OPERATIONS || self.size + added > MAX_REQUEST_BYTES {
            self.write().await?;
        }
        self.size += added;
        self.waiting.push(put(key, value));
        Ok(())
    }

    /// Writes what is left.
    pub(crate) async fn finish(mut self) -> Result<(), Error> {
        if self.waiting.is_empty() { Ok(()) } else { self.write().await }
    }

    async fn write(&mut self) -> Result<(), Error> {
        self.size = 0;
        self.client.transact(Vec::new(), std::mem::take(&mut self.waiting)).await?;
        Ok(())
    }
}
