//! `conform-noq FILE.json [CUBIC|NewReno|BBR3] [CASE...]`: noq in the cases that a congestion control has to pass.
//! `earlydrop conform FILE.json` judges what it writes.

use adapter_noq::pair;
use earlydrop_path::conform::{run, About, Flow, Pair};
use earlydrop_path::Error;
use noq_proto::congestion::{Bbr3Config, ControllerFactory, CubicConfig, NewRenoConfig};
use noq_proto::TransportConfig;
use std::sync::Arc;

/// More than any case carries, B.
const ENDLESS: u64 = 1 << 40;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let file = words.next().ok_or("FILE.json: is missing")?;
    let control = words.next().unwrap_or_else(|| "CUBIC".into());
    let cases = words.map(|word| word.parse()).collect::<Result<Vec<u32>, _>>()?;
    let factory: Arc<dyn ControllerFactory + Send + Sync> = match control.as_str() {
        "CUBIC" => Arc::new(CubicConfig::default()),
        "NewReno" => Arc::new(NewRenoConfig::default()),
        "BBR3" => Arc::new(Bbr3Config::default()),
        other => return Err(format!("{other}: allowed CUBIC, NewReno, BBR3").into()),
    };
    let about = About::new(&format!("noq-proto 1.4 {control}")).cases(&cases);
    let measures = run(&about, |flow: &Flow| -> Result<Pair, Error> {
        let mut transport = TransportConfig::default();
        transport.congestion_controller_factory(factory.clone());
        // Larger than what any case can have in flight.
        transport.send_window(1 << 22).stream_receive_window((1_u32 << 22).into());
        transport.receive_window((1_u32 << 22).into());
        let ends = pair(ENDLESS, 1000 * flow.seed + flow.number as u64, transport);
        let (sender, receiver) = ends.map_err(|error| Error::Call(error.to_string()))?;
        Ok((Box::new(sender), Box::new(receiver)))
    })?;
    std::fs::write(&file, format!("{measures:#}\n"))?;
    Ok(())
}
