//! Writes the inputs that the fuzzer begins with, a folder for each target.

use std::fs;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let folder = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "seeds".to_owned());
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (target, inputs) in telechir_fuzz::seeds::all(&project) {
        let folder = Path::new(&folder).join(target);
        fs::create_dir_all(&folder)?;
        for (at, input) in inputs.iter().enumerate() {
            fs::write(folder.join(format!("{at:05}")), input)?;
        }
        println!("{target} {}", inputs.len());
    }
    Ok(())
}
