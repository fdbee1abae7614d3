//! The catalogue holds what is asked of every discipline, and what does not hold it is found.
#![allow(missing_docs)]

use std::path::PathBuf;
use std::process::Command;

use earlydrop_aqm::catalogue;
use earlydrop_plugin::conformance::conformance;
use earlydrop_plugin::library;

#[test]
fn the_catalogue_conforms() {
    for spec in catalogue::all() {
        for outcome in conformance(spec, 20_000) {
            assert_eq!(outcome.failure, None, "{}: {}", spec.name, outcome.property);
        }
    }
}

/// What failed, by property, of the discipline in C with this body of on_enqueue, these functions before it, and these
/// members of the description.
fn failures(name: &str, body: &str, functions: &str, members: &str) -> Vec<(&'static str, String)> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (file, made) = (folder.join(format!("c_{name}.c")), folder.join(format!("libc_{name}.so")));
    let source = format!(
        "#include \"earlydrop_aqm.h\"\n{functions}\nstatic ed_verdict on(void *state, const ed_packet *packet, const \
         ed_queue *queue, const ed_context *cx) {{ double *s = state; (void)s, (void)packet, (void)queue, (void)cx; {body} }}\n\
         static const ed_aqm d = {{.abi = EARLYDROP_AQM_ABI, .size = sizeof(ed_aqm), .name = \"{name}\", .state_size = 64, \
         .on_enqueue = on, {members}}};\nconst ed_aqm *earlydrop_aqm(void) {{ return &d; }}\n"
    );
    std::fs::write(&file, source).unwrap();
    let include = format!("-I{}/../aqm/include", env!("CARGO_MANIFEST_DIR"));
    let arguments = ["-O2", "-shared", "-fPIC", &include, "-o", made.to_str().unwrap(), file.to_str().unwrap()];
    assert!(Command::new("cc").args(arguments).status().unwrap().success());
    let outcomes = conformance(library::load(&made).unwrap(), 5000);
    outcomes.into_iter().filter_map(|o| o.failure.map(|failure| (o.property, failure))).collect()
}

#[test]
fn what_does_not_conform_is_named_with_its_packet() {
    assert_eq!(
        failures("good", "return cx->random(cx->host) < 0.01 * queue->packets / 60 ? ED_SIGNAL : ED_PASS;", "", ""),
        []
    );

    let found =
        failures("shared", "return all++ % 7 == 6 && queue->packets > 3 ? ED_DROP : ED_PASS;", "static int all;", "");
    assert_eq!(found[0].0, "determinism");
    assert!(found[0].1.contains("keeps state outside of its own: packet "), "{}", found[0].1);

    let found = failures(
        "dishonest",
        "return cx->can_mark ? ED_PASS : packet->ecn || queue->packets < 9 ? ED_PASS : ED_DROP;",
        "",
        "",
    );
    assert_eq!(found, [], "it may treat packets that can be marked otherwise");
    let check = "static const char *check(const double *p, double rate, double delay)
        { (void)p; return rate > 1e6 && delay > 0 ? \"a link of at most 1 Mbit/s\" : 0; }";
    let found = failures("slow", "return ED_PASS;", check, ".check = check");
    let said =
        "its own check refuses it on a link of 10 Mbit/s and 20 ms: given these parameters; allowed a link of at \
                most 1 Mbit/s";
    assert_eq!(found[0], ("conservation", said.to_string()));

    let found = failures("early", "return packet->flow == 1 ? ED_DROP : ED_PASS;", "", "");
    assert_eq!(found.iter().map(|f| f.0).collect::<Vec<_>>(), ["a light load"]);
    assert!(
        found[0].1.contains("the last packet was number 0 at 1.000000 s (flow 1, 1000 B, NotEct)"),
        "{}",
        found[0].1
    );

    let gauges = "static const char *const names[] = {\"p_a\"};
        static void read(const void *s, double *out) { out[0] = ((const double *)s)[0]; }";
    let members = ".gauges = names, .gauge_count = 1, .read_gauges = read";
    let found = failures("over", "s[0] = queue->packets > 50 ? 1.5 : 0; return ED_PASS;", gauges, members);
    assert!(found.iter().any(|f| f.0 == "conservation" && f.1.contains("the gauge p_a is 1.5; the last packet was")));

    let parameter = "static const ed_param ps[] = {{.name = \"share\", .low = 0, .high = 1, .initial = 0.5}};
        static void init(void *state, const double *p, const ed_queue *q, const ed_context *c)
        { (void)q, (void)c; ((double *)state)[1] = 1 / p[0]; }";
    let members = ".params = ps, .param_count = 1, .init = init";
    let found = failures("division", "return s[1] > 1e9 ? 99 : ED_PASS;", parameter, members);
    assert_eq!(found.len(), 1);
    assert!(
        found[0].0 == "extreme parameters"
            && found[0].1.starts_with("with share = 0: division: on_enqueue returned 99")
    );

    let timer = "static double next(const void *s) { return ((const double *)s)[0] + 1e-7; }
        static void timer(void *s, const ed_queue *q, const ed_context *c) { (void)q; *(double *)s = c->now; }";
    let found = failures("busy", "return ED_PASS;", timer, ".next_timer = next, .on_timer = timer");
    assert!(found.iter().any(|f| f.1.contains("more than 100000 timers in a second")), "{found:?}");

    let falls = "static double curve(const double *p, double r, double d, double a) { (void)p, (void)r, (void)d; return a < 50 ? a / 100 : 0.1; }";
    let found = failures("falling", "return ED_PASS;", falls, ".curve = curve");
    assert_eq!(found.len(), 1);
    assert!(found[0].1.starts_with("p = 0.1 at an averaged queue of 50"), "{found:?}");
}
