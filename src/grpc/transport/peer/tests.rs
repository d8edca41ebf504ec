//! What is counted of a connection, and when it ends.

use std::task::Waker;

use super::*;
use crate::grpc::Options;

fn limits() -> Limits {
    Limits::new(&Options { max_unsent_bytes: 8 * 5_000, ..Options::default() })
}

fn has_ended(peer: &Peer) -> bool {
    peer.poll_ended(&mut Context::from_waker(Waker::noop())).is_ready()
}

#[cfg(feature = "etcd")]
#[test]
fn both_ends_of_a_loopback_connection_are_of_this_machine() {
    for (remote, local, expected) in [
        ("127.0.0.1:9", "127.0.0.1:50051", true),
        ("[::1]:9", "[::1]:50051", true),
        ("[::ffff:127.0.0.1]:9", "[::ffff:127.0.0.1]:50051", true),
        ("10.0.0.5:9", "10.0.0.5:50051", false),
        ("10.0.0.5:9", "127.0.0.1:50051", false),
        ("127.0.0.1:9", "10.0.0.5:50051", false),
        ("[::ffff:10.0.0.5]:9", "[::1]:50051", false),
    ] {
        let ends = Ends { remote: remote.parse().unwrap(), local: local.parse().unwrap() };
        assert_eq!(ends.are_loopback(), expected, "{remote} {local}");
    }
}

#[test]
fn an_answers_bytes_are_counted_until_they_are_dropped() {
    let peer = Peer::new(&limits());
    let answer = peer.answer(Bytes::from_static(b"answer")).unwrap();
    assert_eq!((&answer[..], peer.unsent().held()), (&b"answer"[..], 6 + ANSWER_BYTES));
    let part = answer.slice(2..);
    drop(answer);
    assert_eq!(peer.unsent().held(), 6 + ANSWER_BYTES);
    drop(part);
    assert_eq!(peer.unsent().held(), 0);
    assert_eq!(peer.answer(vec![0; 5_001 - ANSWER_BYTES].into()), Err(Exhausted::Connection));
}

#[tokio::test]
async fn small_answers_are_counted_until_headers_and_body_are_dropped() {
    let (limits, limit) = (limits(), 8 * 5_000);
    limits.small.set_max(limit);
    let peer = Peer::new(&limits);
    let answer = |body: &'static str| {
        let mut response = Response::new(Body::new(http_body_util::Full::from(body)));
        response.headers_mut().insert("x-request-id", HeaderValue::from_static("1"));
        peer.small_answer(response, body.len())
    };
    let counted = || peer.0.own_small.held();
    let one = ANSWER_BYTES + "x-request-id1".len();
    let (head, body) = answer("too many").into_parts();
    drop(head);
    assert_eq!(counted(), one + "too many".len());
    drop(body);
    assert_eq!(counted(), 0);
    let (head, body) = answer("").into_parts();
    drop(body);
    assert_eq!((counted(), head.headers["x-request-id"].to_str().unwrap()), (one, "1"));
    drop(head);
    // The connection's own, then its share of what all have, then no more.
    let most = OWN_SMALL_BYTES / one + limit / 8 / one;
    let left: Vec<_> = (0..most).map(|_| answer("")).collect();
    assert!(!has_ended(&peer));
    drop(answer(""));
    assert!(has_ended(&peer));
    drop(left);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_no_answer_is_stalled_and_a_slow_watch_is_not() {
    let (second, peer) = (Duration::from_secs(1), Peer::new(&limits()));
    let _message = peer.message(Bytes::from_static(b"state")).unwrap();
    tokio::time::sleep(3 * second).await;
    assert!(!peer.is_stalled(second));
    let answers = [1, 2].map(|_| peer.answer(Bytes::from_static(b"answer")).unwrap());
    assert!(!peer.is_stalled(second));
    tokio::time::sleep(2 * second).await;
    assert!(peer.is_stalled(second));
    let [first, last] = answers;
    drop(first);
    assert!(!peer.is_stalled(second), "it takes one after the other");
    tokio::time::sleep(2 * second).await;
    assert!(peer.is_stalled(second));
    drop(last);
    assert!(!peer.is_stalled(second));
}

#[test]
fn the_oldest_connection_without_a_caller_makes_room() {
    let (limits, peers) = (limits(), Peers::default());
    let all: Vec<_> = (0..4).map(|_| Peer::new(&limits)).collect();
    for peer in &all {
        peers.add(peer);
    }
    all[0].admit();
    peers.make_room(4);
    assert!(!all.iter().any(has_ended), "three are below the bound");
    peers.make_room(3);
    let ended: Vec<_> = all.iter().map(has_ended).collect();
    assert_eq!(ended, [false, true, false, false]);
    peers.end_all();
    assert!(all[2..].iter().all(has_ended));
}
