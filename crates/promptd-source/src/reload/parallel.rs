//! A function of many items, by several threads where there are enough of them.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The results, in any order. At most so many threads work, this one among them.
pub(crate) fn map<T: Sync, R: Send>(threads: usize, items: &[T], function: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = worth(threads, items.len());
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

/// How many threads so many items are worth.
fn worth(threads: usize, items: usize) -> usize {
    const WORTH_A_THREAD: usize = 4;
    threads.min(items / WORTH_A_THREAD).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_has_its_result_once_however_many_threads_there_are() {
        for threads in 0..4 {
            for count in 0..20_u32 {
                let items: Vec<u32> = (0..count).collect();
                let mut results = map(threads, &items, |item| item * 2);
                results.sort_unstable();
                assert!(results.iter().copied().eq(items.iter().map(|item| item * 2)), "{threads} {results:?}");
            }
        }
    }

    #[test]
    fn a_thread_is_worth_four_items() {
        for (threads, items, expected) in
            [(8, 0, 1), (8, 3, 1), (8, 7, 1), (8, 8, 2), (8, 35, 8), (8, 1_000, 8), (1, 100, 1), (0, 100, 1)]
        {
            assert_eq!(worth(threads, items), expected, "{threads} {items}");
        }
    }
}
