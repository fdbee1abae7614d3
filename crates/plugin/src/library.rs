//! Shared libraries that hold a discipline.

use std::path::Path;

use earlydrop_aqm::abi;

use crate::elf;
use crate::spec::{describe, Declaration};

/// Loads the discipline in the library at `path`, which is never unloaded.
///
/// Loading the library and every later call run its code, which can do all that this process can.
///
/// # Errors
/// What is wrong with the file or its description, with the file's name.
pub fn load(path: &Path) -> Result<Declaration, String> {
    let fault = |message: String| format!("{}: {message}", path.display());
    elf::is_whole(path).map_err(|message| fault(format!("cannot be loaded: {message}")))?;
    // SAFETY: none can be given for foreign code; that is why the user is asked to trust it.
    let library = unsafe { libloading::Library::new(path) }.map_err(|error| {
        // The loader's own words; they begin with the path.
        let said = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        let said = said.trim_start_matches(&*path.to_string_lossy()).trim_start_matches(": ");
        fault(format!("cannot be loaded: {said}"))
    })?;
    let description = {
        // SAFETY: the symbol is a function of this type, by the header.
        let found = unsafe { library.get::<unsafe extern "C" fn() -> *const abi::Aqm>(abi::SYMBOL) };
        let function = found.map_err(|_| fault(format!("has no function {}()", abi::SYMBOL)))?;
        unsafe { function() }
    };
    if description.is_null() {
        return Err(fault(format!("{}() returned NULL", abi::SYMBOL)));
    }
    // SAFETY: by the header the description lives as long as the library, which is never unloaded.
    let declared = unsafe { describe(description) }.map_err(fault)?;
    std::mem::forget(library);
    Ok(declared)
}
