//! The table of a compiled function: its plans, and how a call finds the one that fits.
//!
//! Problem: many threads look up at once. Method: the table is an immutable list with an open hash table of the
//! fingerprints of its keys. Invariant: a fingerprint alone chooses no plan.

use super::bound::{Bound, Exec};
use super::key::Key;
use std::ops::Deref;
use std::sync::Arc;

/// The plans, the newest first, and where to find them by the fingerprints of their keys.
#[derive(Debug, Default)]
pub(super) struct Table {
    plans: Vec<Arc<Bound>>,
    /// An open table of at least twice as many slots, so that some are vacant.
    slots: Box<[Slot]>,
    shift: u32,
    /// Whether it holds what another backend made.
    of_backends: bool,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    fingerprint: u64,
    plan: u32,
}

const VACANT: Slot = Slot {
    fingerprint: 0,
    plan: u32::MAX,
};

impl Table {
    pub(super) fn of(plans: Vec<Arc<Bound>>) -> Table {
        let bits = (2 * plans.len()).max(2).next_power_of_two().ilog2();
        let mut table = Table {
            slots: vec![VACANT; 1 << bits].into(),
            shift: u64::BITS - bits,
            of_backends: plans.iter().any(|b| matches!(b.exec, Exec::Foreign(_))),
            plans,
        };
        for (plan, bound) in (0..).zip(&table.plans) {
            let fingerprint = bound.key.fingerprint;
            let mut at = table.start(fingerprint);
            while table.slots[at].plan != VACANT.plan {
                at = (at + 1) % table.slots.len();
            }
            table.slots[at] = Slot { fingerprint, plan };
        }
        table
    }

    /// Whether it holds what another backend made.
    pub(super) fn is_of_backends(&self) -> bool {
        self.of_backends
    }

    #[inline(always)]
    fn start(&self, fingerprint: u64) -> usize {
        (fingerprint.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    /// The first plan of a fingerprint that fits.
    #[inline(always)]
    pub(super) fn find(&self, fingerprint: u64, fits: impl Fn(&Key) -> bool) -> Option<&Arc<Bound>> {
        let mut at = self.start(fingerprint);
        loop {
            let slot = self.slots.get(at)?;
            if slot.fingerprint == fingerprint
                && let Some(bound) = self.plans.get(slot.plan as usize)
                && fits(&bound.key)
            {
                return Some(bound);
            }
            if slot.plan == VACANT.plan {
                return None;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }
}

impl Deref for Table {
    type Target = [Arc<Bound>];
    fn deref(&self) -> &[Arc<Bound>] {
        &self.plans
    }
}
