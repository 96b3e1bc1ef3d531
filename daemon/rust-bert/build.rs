//! Tells the linker where libtorch lies, so that tests find it when they start.

fn main() {
    println!("cargo::rerun-if-env-changed=LIBTORCH");
    let Ok(libtorch) = std::env::var("LIBTORCH") else { return };
    // The older tag also holds for the libraries that libtorch itself needs.
    for flag in ["-Wl,--disable-new-dtags".to_string(), format!("-Wl,-rpath,{libtorch}/lib")] {
        println!("cargo::rustc-link-arg={flag}");
    }
}
