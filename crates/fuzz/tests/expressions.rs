//! Ten thousand hostile drop probabilities: none panics, and those that are taken stay within their bounds.

use earlydrop_aqm::random::Generator;

#[test]
fn ten_thousand_hostile_expressions_are_refused_or_computed() {
    let mut random = Generator::stream(52, "expressions");
    let mut taken = 0;
    for run in 0..10_000 {
        let bytes: Vec<u8> = (0..20 + run % 600).map(|_| (random.uniform() * 256.0) as u8).collect();
        taken += u32::from(earlydrop_fuzz::hostile_expression(&bytes));
    }
    assert!((2_000..8_000).contains(&taken), "{taken} of 10,000 were taken: the texts are no test of the other kind");
}
