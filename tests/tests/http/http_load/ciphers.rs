//! `-cipher` and `-threads`.

use super::*;

#[test]
fn ciphers_have_openssls_names() {
    let _guard = beside_others();
    let target = Target::start("--tls");
    let (_folder, urls) = file_of(&[target.url()]);
    for cipher in [
        "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256",
        "HIGH:!aNULL",
        "fastsec",
        "highsec",
        "paranoid",
    ] {
        let ran = http_load(&format!("-cipher {cipher} -parallel 1 -fetches 3"), &urls).expect_a_run();
        assert_eq!(ran.code("200"), 3, "{cipher}: {}", ran.err);
        assert_eq!(ran.err.contains("-cipher"), !cipher.contains(':'), "an alias is explained: {}", ran.err);
    }
    let wrong = http_load("-cipher RC4-MD5 -parallel 1 -fetches 3", &urls);
    assert_eq!(wrong.status, 2);
    assert!(
        wrong.err.contains("RC4-MD5 is obsolete") && wrong.err.contains("ECDHE-RSA-AES128-GCM-SHA256"),
        "{}",
        wrong.err
    );
}

#[test]
fn a_cipher_that_is_left_out_is_told_and_several_threads_share_the_load() {
    let _guard = beside_others();
    let target = Target::start("--tls");
    let (_folder, urls) = file_of(&[target.url()]);
    let words = "-cipher ECDHE-RSA-AES256-SHA:HIGH -threads 2 -parallel 4 -fetches 40";
    let ran = http_load(words, &urls).expect_a_run();
    assert_eq!(ran.code("200"), 40, "{}", ran.err);
    assert!(ran.err.contains("ECDHE-RSA-AES256-SHA is in CBC mode"), "{}", ran.err);
    let wrong = http_load("-threads 0 -parallel 4 -fetches 40", &urls);
    assert!(wrong.status == 2 && wrong.err.contains("-threads: '0' is zero"), "{}", wrong.err);
}
