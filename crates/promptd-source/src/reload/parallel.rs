//! A function of many items, by several threads where there are enough of them.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The results, in any order. At most so many threads work, this one among them.
pub(crate) fn map<T: Sync, R: Send>(threads: usize, items: &[T], function: impl Fn(&T) -> R + Sync) -> Vec<R> {
    const WORTH_A_THREAD: usize = 4;
    let threads = threads.min(items.len() / WORTH_A_THREAD).max(1);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push(function(item));
        }
        done
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        for other in others {
            match other.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    })
}
