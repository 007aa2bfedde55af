//! A policy sees pages and can only release them: each file in `release_only/` tries more, and must not compile.

#[test]
fn a_policy_that_does_more_than_release_does_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/release_only/*.rs");
}
