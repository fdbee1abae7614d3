use earlydrop_sim::result;
use earlydrop_sim::run::{run, Events, Links};
use earlydrop_sim::scenario::{check, Doc};
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let text = std::fs::read_to_string(&args[0]).unwrap();
    let scenario = match Doc::from_toml(&text, None).and_then(|doc| check(&doc, None)) {
        Ok(s) => s,
        Err(e) => {
            eprintln!("{e}");
            std::process::exit(2)
        }
    };
    for seed in &args[1..] {
        let seed: u64 = seed.parse().unwrap();
        let outcome = run(&scenario, seed, Links::Auto, Events::Lanes).expect("runs");
        let document = result::document(&scenario, seed, &outcome, 0.0);
        println!("{}", serde_json::to_string(&document).unwrap());
    }
}
