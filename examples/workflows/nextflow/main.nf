#!/usr/bin/env nextflow
// Draws the grid of a config in shards, merges them and makes a page of the run. The rows are those of one process.
//
//   nextflow run main.nf --folder . --study configs/taxi/full.toml --out results/taxi
//
// Parameters: see nextflow.config. A shard that fails is drawn anew from its beginning; with -resume those that are done are kept.

include { PLAN ; SHARD ; MERGE ; PAGE ; overrides ; shards_of } from './modules/congenial'

workflow {
    if (!params.folder || !params.study) {
        error('want --folder (with the config and its data) and --study (the config, by its path in the folder)')
    }
    def folder = file(params.folder, checkIfExists: true)
    def sets = overrides(params.set)
    def number = { value -> value.toString().toDouble() }

    PLAN(folder, params.study, sets)
    pieces = PLAN.out
        .map { plan ->
            params.shards
                ? number(params.shards) as int
                : shards_of(plan.text, number(params.minutes), number(params.threads), number(params.most) as int)
        }
        .flatMap { n -> (1..n).collect { m -> [m, n] } }
    SHARD(folder, params.study, sets, pieces)
    MERGE(folder, params.study, sets, SHARD.out.collect())
    PAGE(MERGE.out)
}
