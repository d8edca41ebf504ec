//! Memory that callers can make the server hold: bytes that are counted until they are given back.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// The part of a budget that one connection may hold: one of so many.
const SHARES: usize = 8;

/// The bytes of all connections together. The bound can change.
#[derive(Debug, Default)]
pub(super) struct Budget {
    max: AtomicUsize,
    held: AtomicUsize,
}

/// The bytes of one connection.
#[derive(Debug)]
pub(super) struct Share {
    budget: Arc<Budget>,
    held: AtomicUsize,
}

/// Bytes that are held until this is dropped.
#[derive(Debug)]
pub(super) struct Hold {
    share: Arc<Share>,
    bytes: usize,
}

/// Why no more bytes can be held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exhausted {
    /// The connection has its share.
    Connection,
    /// All connections together have everything.
    Server,
}

impl Budget {
    pub(super) fn set_max(&self, max: usize) {
        self.max.store(max, Ordering::Relaxed);
    }

    fn max(&self) -> usize {
        self.max.load(Ordering::Relaxed)
    }
}

impl Share {
    pub(super) fn new(budget: &Arc<Budget>) -> Arc<Self> {
        Arc::new(Self { budget: Arc::clone(budget), held: AtomicUsize::new(0) })
    }

    /// That of one connection alone.
    pub(super) fn alone(max: usize) -> Arc<Self> {
        let budget = Budget::default();
        budget.set_max(max * SHARES);
        Self::new(&Arc::new(budget))
    }

    /// Holds bytes until the [`Hold`] is dropped.
    pub(super) fn hold(self: &Arc<Self>, bytes: usize) -> Result<Hold, Exhausted> {
        self.add(bytes)?;
        Ok(Hold { share: Arc::clone(self), bytes })
    }

    /// Whether nothing more can be held.
    pub(super) fn exhausted(&self) -> Result<(), Exhausted> {
        let max = self.budget.max();
        if self.held.load(Ordering::Relaxed) >= max / SHARES {
            return Err(Exhausted::Connection);
        }
        if self.budget.held.load(Ordering::Relaxed) >= max {
            return Err(Exhausted::Server);
        }
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    fn add(&self, bytes: usize) -> Result<(), Exhausted> {
        let max = self.budget.max();
        add_below(&self.held, bytes, max / SHARES).ok_or(Exhausted::Connection)?;
        add_below(&self.budget.held, bytes, max).ok_or_else(|| {
            self.held.fetch_sub(bytes, Ordering::Relaxed);
            Exhausted::Server
        })
    }
}

fn add_below(held: &AtomicUsize, bytes: usize, max: usize) -> Option<()> {
    let added = |held: usize| held.checked_add(bytes).filter(|sum| *sum <= max);
    held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, added).ok().map(drop)
}

impl Hold {
    /// Holds more bytes.
    pub(super) fn grow(&mut self, bytes: usize) -> Result<(), Exhausted> {
        self.share.add(bytes)?;
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.share.held.fetch_sub(self.bytes, Ordering::Relaxed);
        self.share.budget.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(max: usize) -> (Arc<Budget>, Vec<Arc<Share>>) {
        let budget = Arc::new(Budget::default());
        budget.set_max(max);
        let shares = (0..10).map(|_| Share::new(&budget)).collect();
        (budget, shares)
    }

    #[test]
    fn a_connection_has_an_eighth_and_all_together_have_the_whole() {
        let (_, shares) = shares(800);
        let mut first = shares[0].hold(60).unwrap();
        assert_eq!(first.grow(41), Err(Exhausted::Connection));
        first.grow(40).unwrap();
        assert_eq!((shares[0].exhausted(), shares[1].exhausted()), (Err(Exhausted::Connection), Ok(())));
        let others: Vec<_> = shares[1..8].iter().map(|share| share.hold(100).unwrap()).collect();
        assert_eq!(shares[8].hold(1).err(), Some(Exhausted::Server));
        assert_eq!(shares[8].exhausted(), Err(Exhausted::Server));
        drop(first);
        drop(shares[8].hold(100).unwrap());
        drop(others);
        assert!(shares.iter().all(|share| share.held() == 0 && share.exhausted().is_ok()));
    }

    #[test]
    fn what_is_refused_is_not_counted() {
        let (budget, shares) = shares(80);
        let _held: Vec<_> = shares[..8].iter().map(|share| share.hold(10).unwrap()).collect();
        assert_eq!(shares[9].hold(5).err(), Some(Exhausted::Server));
        assert_eq!((shares[9].held(), budget.held.load(Ordering::Relaxed)), (0, 80));
        assert_eq!(shares[9].hold(usize::MAX).err(), Some(Exhausted::Connection));
    }

    #[test]
    fn a_smaller_bound_counts_what_is_held() {
        let (budget, shares) = shares(800);
        let held = shares[0].hold(100).unwrap();
        budget.set_max(80);
        assert_eq!(shares[1].hold(1).err(), Some(Exhausted::Server));
        drop(held);
        shares[1].hold(10).unwrap();
    }
}
