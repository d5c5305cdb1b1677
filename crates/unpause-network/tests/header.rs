//! The header that is committed is the one that the sources make.

use std::path::Path;

#[test]
fn the_header_is_current() {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(crate_dir.join("cbindgen.toml"));
    let bindings = cbindgen::Builder::new()
        .with_config(config.expect("cbindgen.toml can be read"))
        .with_crate(crate_dir)
        .generate()
        .expect("the sources can be read");
    let mut made = Vec::new();
    bindings.write(&mut made);
    let made = String::from_utf8(made).expect("the header is text");
    let path = crate_dir.join("include/unpause_network.h");
    if std::env::var_os("UNPAUSE_BLESS").is_some() {
        std::fs::write(&path, &made).expect("the header can be written");
    }
    let committed = std::fs::read_to_string(&path).expect("the header is there");
    assert!(
        made == committed,
        "include/unpause_network.h is not what the sources make: \
         UNPAUSE_BLESS=1 cargo test -p unpause-network --test header"
    );
}
