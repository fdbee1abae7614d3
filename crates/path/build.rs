//! Lists the cases of `cases`, so that a file there is all that a new one takes.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("cases");
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut files =
        fs::read_dir(&folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()?;
    files.retain(|file| file.extension().is_some_and(|kind| kind == "toml"));
    files.sort();
    let texts: String =
        files.iter().map(|file| format!("    include_str!({:?}),\n", file.display().to_string())).collect();
    fs::write(Path::new(&env::var("OUT_DIR")?).join("cases.rs"), format!("&[\n{texts}]\n"))?;
    Ok(())
}
