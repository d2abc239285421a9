#!/usr/bin/env nextflow
// Draws the grid of a config in shards, merges them and makes a page of the run. The rows are those of one process.
//
//   nextflow run main.nf --folder . --study configs/taxi/full.toml --out results/taxi
//
// Parameters: see nextflow.config. A shard that fails is drawn anew from its beginning; with -resume those that are done are kept.

include { LOOK ; PLAN ; SHARD ; MERGE ; PAGE ; identity_of ; set_options ; shard_count } from './modules/congenial'

workflow {
    if (!params.folder || !params.study) {
        error('want --folder (with the config and its data) and --study (the config, by its path in the folder)')
    }
    def folder = file(params.folder, checkIfExists: true)
    def overrides = set_options(params.set)

    LOOK(folder, params.study, overrides)
    identity = LOOK.out.map { look -> identity_of(look.text) }
    PLAN(folder, params.study, overrides, identity)
    pieces = PLAN.out
        .map { plan -> shard_count(plan.text, params.shards, params.minutes, params.threads, params.most) }
        .flatMap { n -> (1..n).collect { m -> [m, n] } }
    SHARD(folder, params.study, overrides, identity, pieces)
    MERGE(folder, params.study, overrides, identity, SHARD.out.collect())
    PAGE(MERGE.out)
}
