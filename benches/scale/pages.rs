//! The admin pages of a server that is measured.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
};

/// Where they are.
pub struct Pages {
    /// `host:port`, for `--admin`.
    pub address: String,
}

/// What `/metrics` has.
pub struct Metrics(String);

impl Pages {
    /// At a port that is free now.
    pub fn free() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Self { address: listener.local_addr().unwrap().to_string() }
    }

    pub fn metrics(&self) -> Metrics {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(stream, "GET /metrics HTTP/1.0\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        Metrics(text)
    }
}

impl Metrics {
    /// The value of a series without labels.
    pub fn value(&self, name: &str) -> f64 {
        let value = self.0.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
        value.unwrap_or_else(|| panic!("no {name} in\n{}", self.0))
    }

    /// A histogram's bounds, each with how many were at most that.
    pub fn buckets(&self, name: &str) -> Vec<(f64, f64)> {
        let prefix = format!("{name}_bucket{{le=\"");
        let bucket = |line: &str| {
            let (bound, count) = line.strip_prefix(&prefix)?.split_once("\"} ")?;
            Some((if bound == "+Inf" { f64::INFINITY } else { bound.parse().ok()? }, count.parse().ok()?))
        };
        self.0.lines().filter_map(bucket).collect()
    }
}
