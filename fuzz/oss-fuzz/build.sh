#!/bin/bash -eu
# Builds every target with its checks; the inputs that once failed are the seeds.
cd "$SRC/earlydrop"
cargo fuzz build -O --debug-assertions
for target in fuzz/fuzz_targets/*.rs; do
    name=$(basename "$target" .rs)
    cp "fuzz/target/x86_64-unknown-linux-gnu/release/$name" "$OUT/"
    seeds=(crates/fuzz/corpus/"$name"-*)
    if [ -e "${seeds[0]}" ]; then
        zip -j "$OUT/${name}_seed_corpus.zip" "${seeds[@]}"
    fi
done
