// SPDX-License-Identifier: BSD-3-Clause
//! The library loaded at run time: nothing is linked, and a program runs where libcai is not.
//!
//! With the feature `dynamic` the functions of this crate have the same names and types as without
//! it; each calls the library that [`load()`] has loaded, or, if nothing is loaded yet, loads it as
//! `load(None)` does. Where that fails,
//!
//! - a function that returns a [`cai_status`](crate::cai_status) returns
//!   [`CAI_ERR_UNSUPPORTED`](crate::CAI_ERR_UNSUPPORTED), and the error's message says what could not
//!   be loaded;
//! - [`cai_owner_end()`](crate::cai_owner_end) ends the owner at once, if no use is kept;
//! - any other does nothing and returns 0, a null pointer, or for a name the text `""`.
//!
//! The next call tries again. A library that was loaded stays until the process ends.

mod load_error;

use alloc::boxed::Box;
use core::ffi::{CStr, c_char, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

pub use load_error::LoadError;

use crate::bindings;
#[cfg(feature = "memory")]
use crate::memory;

/// What is looked for where the loader looks, by the name that stands for this ABI.
const SONAME: &CStr = c"libcai.so.1";

/// The functions of a library.
pub(crate) struct Functions {
    pub(crate) exchange: bindings::Functions,
    #[cfg(feature = "memory")]
    pub(crate) memory: memory::Functions,
}

impl Functions {
    fn find(library: &Library) -> Result<Self, LoadError> {
        Ok(Self {
            exchange: bindings::Functions::find(library)?,
            #[cfg(feature = "memory")]
            memory: memory::Functions::find(library)?,
        })
    }
}

/// The functions of the library in use, once there is one.
static LOADED: AtomicPtr<Functions> = AtomicPtr::new(ptr::null_mut());

/// Loads libcai: from `path`, else from where the environment's `LIBCAI_LIBRARY` says, else
/// `libcai.so.1` from where the system's loader looks; a library of that name which the process has
/// already is taken. May be called from any thread. Nothing happens if libcai is loaded already,
/// whatever the path.
///
/// # Errors
/// There is no such library, or it lacks a function that these bindings declare: the text names it.
/// Nothing is loaded then.
///
/// # Safety
/// What is loaded is libcai, of this ABI: its functions are of the types that are declared here.
pub unsafe fn load(path: Option<&CStr>) -> Result<(), LoadError> {
    if !LOADED.load(Ordering::Acquire).is_null() {
        return Ok(());
    }
    let library = Library::open(path)?;
    let functions = Functions::find(&library)?;
    let functions = Box::into_raw(Box::new(functions));
    let none = ptr::null_mut();
    match LOADED.compare_exchange(none, functions, Ordering::Release, Ordering::Relaxed) {
        Ok(_) => core::mem::forget(library),
        // Another thread was faster, and its library is in use.
        // SAFETY: nobody else has seen the table.
        Err(_) => drop(unsafe { Box::from_raw(functions) }),
    }
    Ok(())
}

/// The library's functions, after loading it if nobody has.
#[inline]
pub(crate) fn functions() -> Result<&'static Functions, LoadError> {
    // SAFETY: the table was written before, and is never freed.
    match unsafe { LOADED.load(Ordering::Acquire).as_ref() } {
        Some(functions) => Ok(functions),
        None => load_now(),
    }
}

#[cold]
fn load_now() -> Result<&'static Functions, LoadError> {
    // SAFETY: a caller of a function of the API relies on the system's libcai being that.
    unsafe { load(None) }?;
    functions()
}

/// A library that is closed again unless it is forgotten.
pub(crate) struct Library(*mut c_void);

impl Library {
    fn open(path: Option<&CStr>) -> Result<Self, LoadError> {
        let name = path.map_or_else(default_name, CStr::as_ptr);
        // SAFETY: the name ends with a NUL. The caller of load() is responsible for code that the
        // library runs while it is loaded.
        let handle = unsafe { libc::dlopen(name, libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() { Err(last_failure()) } else { Ok(Self(handle)) }
    }

    pub(crate) fn find(&self, symbol: &CStr) -> Result<*mut c_void, LoadError> {
        // SAFETY: the handle is open, and the symbol ends with a NUL.
        let address = unsafe { libc::dlsym(self.0, symbol.as_ptr()) };
        if address.is_null() { Err(last_failure()) } else { Ok(address) }
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: it was opened once, and nothing of it is in use.
        unsafe { libc::dlclose(self.0) };
    }
}

fn default_name() -> *const c_char {
    // SAFETY: the name ends with a NUL.
    let named = unsafe { libc::getenv(c"LIBCAI_LIBRARY".as_ptr()) };
    // SAFETY: it is null, or a text that is valid while nobody changes the environment.
    match unsafe { named.as_ref() } {
        Some(&first) if first != 0 => named,
        _ => SONAME.as_ptr(),
    }
}

/// What the loader has failed with; it names the file, and the symbol if that is what is missing.
fn last_failure() -> LoadError {
    // SAFETY: the text belongs to this thread, and is valid until its next call of the loader.
    let text = unsafe { libc::dlerror().as_ref().map(|text| CStr::from_ptr(text)) };
    LoadError::new(text.unwrap_or(c"the loader does not say why"))
}

/// What a function that cannot fail returns when there is no library.
pub(crate) trait Neutral {
    const NEUTRAL: Self;
}

impl Neutral for () {
    const NEUTRAL: Self = ();
}

impl Neutral for i32 {
    const NEUTRAL: Self = 0;
}

impl Neutral for u64 {
    const NEUTRAL: Self = 0;
}

impl Neutral for *mut c_void {
    const NEUTRAL: Self = ptr::null_mut();
}

/// Names are never null.
impl Neutral for *const c_char {
    const NEUTRAL: Self = c"".as_ptr();
}

#[cfg(feature = "memory")]
impl Neutral for crate::cai_device {
    const NEUTRAL: Self = Self { type_: 0, id: 0 };
}

/// What a call comes to when there is no library: the error is written by the functions that take
/// one, last, and they return its status. Each argument comes twice, to be compared and to be used.
macro_rules! unloaded {
    // An owner ends. Only the library keeps uses. If there are any, another copy has kept them, and
    // the owner must stay.
    ($failure:ident self_ $owner:ident end $end:ident) => {
        // SAFETY: the caller guarantees no reference and room for uses; `end` takes the owner.
        unsafe {
            if let (Some(end), true) = ($end, (*$owner).uses.is_null()) {
                end($owner)
            }
        }
    };
    ($failure:ident error $error:ident) => {
        // SAFETY: the error is null or can be written, as the header wants it.
        unsafe { $failure.report($error) }
    };
    ($failure:ident $name:ident $argument:ident $($others:ident)*) => {
        unloaded!($failure $($others)*)
    };
    ($failure:ident) => {
        $crate::dynamic::Neutral::NEUTRAL
    };
}

/// Defines the functions that some headers declare, each as a call through their table.
macro_rules! functions {
    ($table:ident: $(
        $(#[$documentation:meta])*
        pub fn $name:ident($($argument:ident: $kind:ty),* $(,)?) $(-> $result:ty)?;
    )*) => {
        pub(crate) struct Functions {
            $($name: unsafe extern "C" fn($($kind),*) $(-> $result)?,)*
        }

        impl Functions {
            pub(crate) fn find(
                library: &$crate::dynamic::Library,
            ) -> Result<Self, $crate::dynamic::LoadError> {
                $(
                    let symbol = concat!(stringify!($name), "\0").as_bytes();
                    // SAFETY: there is one NUL, at the end.
                    let symbol = unsafe { ::core::ffi::CStr::from_bytes_with_nul_unchecked(symbol) };
                    let address = library.find(symbol)?;
                    // SAFETY: load()'s caller says that it is a function of this type.
                    let $name = unsafe {
                        ::core::mem::transmute::<
                            *mut ::core::ffi::c_void,
                            unsafe extern "C" fn($($kind),*) $(-> $result)?,
                        >(address)
                    };
                )*
                Ok(Self { $($name),* })
            }
        }

        $(
            $(#[$documentation])*
            pub unsafe extern "C" fn $name($($argument: $kind),*) $(-> $result)? {
                match $crate::dynamic::functions() {
                    // SAFETY: the caller guarantees it.
                    Ok(functions) => unsafe { (functions.$table.$name)($($argument),*) },
                    Err(_failure) => unloaded!(_failure $($argument $argument)*),
                }
            }
        )*
    };
}
