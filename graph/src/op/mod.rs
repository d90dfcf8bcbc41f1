//! Operations: the table of rows, and the rules that rows name.

mod decompose;
pub mod dtype;
pub mod options;
pub mod row;
pub mod shape;
mod table;

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! define {
    ($($(#[$doc:meta])* $variant:ident $method:ident $twin:ident ($($p:ident : $k:ident),*)
        => $results:ident, $shape:ident, $dtype:ident, $lower:ident $(($class:ident))?;)*) => {
        /// An operation of the table; its number is its row.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        #[repr(u16)]
        pub enum Op { $($(#[$doc])* $variant),* }

        impl Op {
            /// Every operation, in the table's order.
            pub const ALL: &'static [Op] = &[$(Op::$variant),*];

            /// The method name, which is also the name in the text form.
            pub const fn name(self) -> &'static str {
                match self { $(Op::$variant => stringify!($method)),* }
            }
        }
    };
}
crate::op_table!(define);

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
