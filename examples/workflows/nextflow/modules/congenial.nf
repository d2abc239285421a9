// Processes that share a run between jobs. Each job has a folder of its own, into which `folder`, with the config and the data
// that it names, is staged as a link or a copy. `ext.program` is the command [congenial], `ext.args` more options of `merge`.

// Looks at the config and the data whenever the workflow is started: Nextflow sees no edit inside of a folder. What the others have
// made is kept by -resume as long as `identity` of this says the same, and `folder` has its name.
process LOOK {
    cache false

    input:
    path folder, stageAs: 'study'
    val study
    val overrides

    output:
    path 'look.json'

    script:
    """
    ${task.ext.program ?: 'congenial'} plan '${folder}/${study}' --json ${overrides} >look.json
    """
}

// Measures the cells.
process PLAN {
    cache 'lenient'

    input:
    path folder, stageAs: 'study'
    val study
    val overrides
    val identity

    output:
    path 'plan.json'

    script:
    """
    ${task.ext.program ?: 'congenial'} plan '${folder}/${study}' --time --json ${overrides} >plan.json
    """
}

// Draws the m-th of n shares of the batches, into a journal of its own.
process SHARD {
    tag "${m} of ${n}"
    cache 'lenient'

    input:
    path folder, stageAs: 'study'
    val study
    val overrides
    val identity
    tuple val(m), val(n)

    output:
    path "shard-${m}.partial"

    script:
    """
    ${task.ext.program ?: 'congenial'} run '${folder}/${study}' --shard ${m}/${n} --out shard-${m} --threads ${task.cpus} ${overrides}
    """
}

// Makes the run of all shares; refuses, with exit code 6, if a batch is missing.
process MERGE {
    cache 'lenient'

    input:
    path folder, stageAs: 'study'
    val study
    val overrides
    val identity
    path shards, arity: '1..*'

    output:
    path 'run'

    script:
    def from = shards.collect { shard -> "--from ${shard.name - '.partial'}" }.join(' ')
    """
    ${task.ext.program ?: 'congenial'} merge '${folder}/${study}' --out run ${from} --threads ${task.cpus} ${overrides} ${task.ext.args ?: ''}
    """
}

// One HTML page that stands alone.
process PAGE {
    input:
    path run

    output:
    path 'run.html'

    script:
    """
    ${task.ext.program ?: 'congenial'} report '${run}' --format html -o run.html
    """
}

// What a run is of: its config and data.
def identity_of(look) {
    def plan = new groovy.json.JsonSlurper().parseText(look)
    return plan.config_hash + ' ' + plan.data_digest
}

// `--set` for each override, as words of a shell.
def set_options(sets) {
    def all = sets instanceof List ? sets : [sets]
    return all.collect { each -> "--set='" + each.toString().replace("'", "'\\''") + "'" }.join(' ')
}

// How many shards: `shards`, or as many as leave `minutes` to each. The seconds of the plan were told for the threads of the
// machine that measured. Numbers of a command line may be texts.
def shard_count(plan, shards, minutes, threads, most) {
    if (shards) {
        return shards.toString().toInteger()
    }
    def measured = new groovy.json.JsonSlurper().parseText(plan).measured
    def work = measured.seconds * measured.threads / threads.toString().toInteger()
    def wanted = Math.ceil(work / (60 * minutes.toString().toDouble())) as int
    return Math.min(most.toString().toInteger(), Math.max(1, wanted))
}
