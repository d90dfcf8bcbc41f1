//! Graph surgery: nodes inserted, erased, replaced, copied, cut out, and found by pattern.
//!
//! Problem: a [`NodeId`](crate::NodeId) is a position in topological order, so that a change in the middle of a graph
//! renumbers what follows; a caller that holds on to nodes while it edits would hold on to the wrong ones. And each
//! change touches more than the node at hand: the types of all that follow, guards, outputs, new values of parameters.
//!
//! Method: an [`Edit`] session works on a copy of the graph in which ids are *handles*: those of the graph as it was
//! stay, new nodes get the next numbers, and none is used again. The order is a list beside the nodes, and so are
//! the users of each node. [`Edit::finish`] numbers the nodes by their order, verifies, and replaces the graph; it
//! returns the [`Renumbering`] from handles to ids. A session that is dropped leaves the graph as it was.
//!
//! Invariants, after every call of a session:
//! * each argument, output and guard names a value that exists, and that stands before its user;
//! * the types of a node follow from those of its arguments: where a change alters the type of a value, all that depends
//!   on it is inferred again, and a rule that breaks there refuses the change;
//! * a call that fails changes nothing;
//! * what replaces a node has that node's place in the source; a node is a step of a composite only if what it stands
//!   for was one.
//!
//! A session takes time near linear in the size of the graph and the number of edits.
//!
//! ```
//! use tensorplay_graph::{Arg, GraphModule, NodeId, Op};
//!
//! let mut m: GraphModule = "graph f(x: f32[2, 3]) { %1 = exp(%0) %2 = neg(%1) return %2 }".parse()?;
//! let mut edit = m.edit()?;
//! let clamped = edit.insert_after(NodeId(1), Op::ClampMax, vec![NodeId(1).into(), Arg::float(1e3)])?;
//! edit.replace_all_uses(NodeId(1).into(), clamped.into())?;
//! let renumbered = edit.finish()?;
//! assert_eq!(renumbered.node(clamped), Some(NodeId(2)));
//! assert_eq!(m.nodes()[3].to_string(), "neg(%2)");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod copy;
mod edit;
mod error;
mod extract;
mod matcher;
mod names;
mod order;
mod outputs;
mod pattern;
mod replace;
mod rewrite;
mod users;

pub use copy::Copied;
pub use edit::{Edit, Renumbering};
pub use error::EditError;
pub use users::User;

use crate::{GraphModule, VerifyError, verify};

impl GraphModule {
    /// Starts an edit session, which changes the graph when it is [finished](Edit::finish).
    ///
    /// # Errors
    /// A graph that does not verify.
    pub fn edit(&mut self) -> Result<Edit<'_>, EditError> {
        Edit::new(self)
    }

    /// Checks every invariant of the graph; the same as [`verify`](crate::verify()).
    ///
    /// ```
    /// use tensorplay_graph::{GraphModule, Value, NodeId};
    /// let mut m: GraphModule = "graph f(x: f32[2]) { %1 = exp(%0) return %1 }".parse()?;
    /// m.lint().unwrap();
    /// m.graph.outputs[0] = NodeId(7).into();
    /// assert_eq!(m.lint().unwrap_err()[0].to_string(), "%7 is not defined before its use");
    /// # Ok::<(), tensorplay_graph::ParseError>(())
    /// ```
    ///
    /// # Errors
    /// Everything that is broken, in node order.
    pub fn lint(&self) -> Result<(), Vec<VerifyError>> {
        verify(self)
    }

    /// Replaces every match of a pattern, and returns how many there were. See [`Edit::replace_pattern`].
    ///
    /// ```
    /// use tensorplay_graph::GraphModule;
    /// let mut m: GraphModule =
    ///     "graph f(x: f32[4]) { %1 = sigmoid(%0) %2 = mul(%0, %1) %3 = sum_all(%2) return %3 }".parse()?;
    /// let pattern: GraphModule = "graph p(x) { %1 = sigmoid(%0) %2 = mul(%0, %1) return %2 }".parse()?;
    /// let silu: GraphModule = "graph r(x) { %1 = silu(%0) return %1 }".parse()?;
    /// assert_eq!(m.replace_pattern(&pattern, &silu)?, 1);
    /// assert_eq!(m.nodes()[2].to_string(), "sum_all(%1)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A pattern that cannot be looked for, or a replacement that breaks a rule where it is put; nothing is changed
    /// then.
    pub fn replace_pattern(
        &mut self,
        pattern: &GraphModule,
        replacement: &GraphModule,
    ) -> Result<usize, EditError> {
        let mut edit = self.edit()?;
        let n = edit.replace_pattern(pattern, replacement)?;
        if n > 0 {
            edit.finish()?;
        }
        Ok(n)
    }
}
