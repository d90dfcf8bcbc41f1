//! Panics of a call as texts, without noise on stderr.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local!(static QUIET: Cell<bool> = const { Cell::new(false) });

/// Runs `f`; a panic is an error with its text.
pub fn caught<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let loud = take_hook();
        set_hook(Box::new(move |info| {
            // a thread that is being torn down is not ours
            if !QUIET.try_with(Cell::get).unwrap_or(false) {
                loud(info);
            }
        }));
    });
    let before = QUIET.replace(true);
    // what `f` borrows is not used after a panic
    let result = catch_unwind(AssertUnwindSafe(f));
    QUIET.set(before);
    result.map_err(|payload| text(&*payload))
}

fn text(payload: &(dyn Any + Send)) -> String {
    if let Some(s) = payload.downcast_ref::<&str>() {
        (*s).to_string()
    } else if let Some(s) = payload.downcast_ref::<String>() {
        s.clone()
    } else {
        "a panic without a text".into()
    }
}

#[cfg(test)]
mod tests {
    use super::caught;

    #[test]
    fn texts_come_through() {
        assert_eq!(caught(|| 1), Ok(1));
        assert_eq!(caught(|| -> () { panic!("plain") }), Err("plain".into()));
        assert_eq!(
            caught(|| -> () { panic!("{} {}", "with", 2) }),
            Err("with 2".into())
        );
    }
}
