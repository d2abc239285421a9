// Runs a Nextflow script where Nextflow is not to be had: its own code is run by Groovy, the script of every process by bash, in a
// folder of its own, with links to what it takes. As much of the language is here as examples/workflows/nextflow speaks; what
// Nextflow itself would say of its syntax, it does not tell.
//   groovy tests/nextflow.groovy MAIN.nf WORK [name=value…]
import java.nio.file.Files

// A channel: of one value for all tasks, or of one for each task.
class Channel {
    List items
    boolean single
    Channel map(Closure f) { new Channel(items: items.collect(f), single: single) }
    Channel flatMap(Closure f) { new Channel(items: items.collectMany(f)) }
    Channel collect() { new Channel(items: [items], single: true) }
}

// A file as a task sees it.
class Staged {
    String name
    String toString() { name }
}

class ScriptBegins extends RuntimeException {}

class Name {
    String name
    String toString() { name }
}

// What the body of a process says, in its order; names are what a task is given, or themselves.
class Body {
    Map known
    List inputs = [], outputs = []
    List list
    boolean reading
    def section(String name) {
        if (reading && name == 'script') throw new ScriptBegins()
        list = [input: inputs, output: outputs][name]
    }
    def tag(x) {}
    def cache(x) {}
    def val(x) { say([kind: 'val', x: x]) }
    def path(Map how = [:], x) { say([kind: 'path', x: x, how: how]) }
    def tuple(Object... parts) {
        parts.each { list.pop() }
        say([kind: 'tuple', x: parts as List])
    }
    def say(what) { list << what; what }
    def propertyMissing(String name) {
        if (known.containsKey(name)) return known[name]
        if (reading && name != 'params') return new Name(name: name)
        throw new MissingPropertyException(name, Body)
    }
}

class Process {
    String name
    Closure body
    Channel out
    static File work
    static Map config

    private String script(Body body) {
        def closure = this.body.clone()
        closure.delegate = body
        closure.resolveStrategy = Closure.DELEGATE_FIRST
        try { closure() } catch (ScriptBegins e) { null }
    }

    def call(List arguments) {
        def read = new Body(known: [:], reading: true)
        script(read)
        assert read.inputs.size() == arguments.size(): "${name}: ${read.inputs.size()} inputs, ${arguments.size()} given"
        assert read.outputs.size() == 1: "${name}: want one output"
        def many = arguments.findAll { it instanceof Channel && !it.single }
        assert many.size() <= 1
        def number = many ? many[0].items.size() : 1
        def results = (0..<number).collect { i ->
            task(read.inputs, arguments.collect { it instanceof Channel ? it.items[it.single ? 0 : i] : it }, i)
        }
        out = new Channel(items: results, single: !many)
    }

    private task(List inputs, List values, int number) {
        def folder = new File(work, "${name}-${number}")
        assert folder.mkdirs()
        def settings = [cpus: 1, ext: config.process.ext]
        config.process.each { of, what ->
            if (what instanceof Map && name ==~ of) settings += what + [ext: settings.ext + (what.ext ?: [:])]
        }
        def known = [task: settings]
        def stage = { File file, called ->
            Files.createSymbolicLink(new File(folder, called ?: file.name).toPath(), file.absoluteFile.toPath())
            new Staged(name: called ?: file.name)
        }
        [inputs, values].transpose().each { input, value ->
            switch (input.kind) {
                case 'val': known["${input.x}".toString()] = value; break
                case 'tuple':
                    assert input.x.size() == value.size()
                    [input.x, value].transpose().each { part, one -> known["${part.x}".toString()] = one }
                    break
                case 'path':
                    def files = value instanceof List ? value : [value]
                    assert input.how.arity || files.size() == 1
                    def staged = files.collect { stage(it, input.how.stageAs) }
                    known["${input.x}".toString()] = input.how.arity ? staged : staged[0]
            }
        }
        def body = new Body(known: known)
        new File(folder, '.command.sh').text = script(body).stripIndent()
        def run = new ProcessBuilder('bash', '-ue', '.command.sh').directory(folder)
            .redirectErrorStream(true).redirectOutput(new File(folder, '.command.log')).start()
        if (run.waitFor() != 0) {
            System.err.println("${name}: ${new File(folder, '.command.sh').text}${new File(folder, '.command.log').text}")
            System.exit(1)
        }
        def made = new File(folder, body.outputs[0].x.toString())
        assert made.exists(): "${name} made no ${made.name}"
        println "${name} ${number + 1}: ${new File(folder, '.command.sh').text.trim()}"
        if (settings.publishDir) {
            def to = new File(settings.publishDir.path.toString())
            to.mkdirs()
            assert ['cp', '-r', made.path, to.path].execute().waitFor() == 0
        }
        made
    }
}

// The names that are included.
class Names {
    List all = []
    def propertyMissing(String name) { all << name }
}

abstract class Base extends Script {
    static Map processes = [:], functions = [:]
    static File folder
    static Closure load

    def process(Process made) { processes[made.name] = made }
    def workflow(Closure body) { body() }
    def error(String what) { System.err.println(what); System.exit(1) }
    def file(Map how, String path) {
        def file = new File(path)
        assert !how.checkIfExists || file.exists(): "no ${path}"
        file
    }
    def include(Closure names) {
        def asked = new Names()
        names.delegate = asked
        names.resolveStrategy = Closure.DELEGATE_ONLY
        names()
        [from: { String path ->
            def module = load(new File(folder, path + '.nf'))
            module.run()
            asked.all.each { name ->
                if (module.metaClass.respondsTo(module, name)) functions[name] = { Object... x -> module.invokeMethod(name, x) }
                assert processes[name] || functions[name]: "${path} has no ${name}"
            }
        }]
    }
    def methodMissing(String name, arguments) {
        if (processes[name]) return processes[name].call(arguments as List)
        if (functions[name]) return functions[name](*arguments)
        if (arguments.length == 1 && arguments[0] instanceof Closure) return new Process(name: name, body: arguments[0])
        throw new MissingMethodException(name, getClass(), arguments)
    }
    def propertyMissing(String name) {
        if (processes[name]) return processes[name]
        throw new MissingPropertyException(name, getClass())
    }
}

def main = new File(args[0])
Base.folder = main.absoluteFile.parentFile
Process.config = new ConfigSlurper().with {
    binding = [params: [:]]
    def text = new File(Base.folder, 'nextflow.config').text
    def given = args.drop(2).collectEntries { it.split('=', 2) as List }
    def first = parse(text.replaceFirst(/(?s)\nprocess \{.*/, '\n'))
    def unknown = given.keySet() - first.params.keySet()
    assert !unknown: "no parameter ${unknown}"
    binding = [params: first.params + given]
    parse(text.replaceFirst(/(?s)^params \{.*?\n\}/, '')) + [params: first.params + given]
}
Process.work = new File(args[1])
def compiler = new org.codehaus.groovy.control.CompilerConfiguration(scriptBaseClass: Base.name)
def shell = new GroovyShell(getClass().classLoader, new Binding(params: Process.config.params), compiler)
// The labels of a process become calls.
Base.load = { File file -> shell.parse(file.text.replaceAll(/(?m)^(\s*)(input|output|script):$/, "\$1section '\$2'"), file.name.replaceAll(/\W/, '_')) }
Base.load(main).run()
println "processes: ${Base.processes.keySet().join(', ')}"
