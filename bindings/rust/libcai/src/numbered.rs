// SPDX-License-Identifier: BSD-3-Clause
//! Enums for C numbers, which a newer library may extend.

/// Defines an enum with a variant for each number that is known, and `Unknown` for all others.
macro_rules! numbered {
    (
        $(#[$meta:meta])*
        $name:ident: $raw:ty {
            $($(#[$doc:meta])* $variant:ident = $value:expr,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$doc])* $variant,)+
            /// A number that this version of the crate does not know.
            Unknown($raw),
        }

        impl $name {
            pub(crate) const fn from_raw(raw: $raw) -> Self {
                $(if raw == $value { return Self::$variant; })+
                Self::Unknown(raw)
            }

            /// The library's number for it.
            pub const fn to_raw(self) -> $raw {
                match self {
                    $(Self::$variant => $value,)+
                    Self::Unknown(raw) => raw,
                }
            }
        }
    };
}

pub(crate) use numbered;
