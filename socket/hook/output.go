package hook

import "github.com/go-json-experiment/json"

// stdoutAnswer returns an output with v as JSON on standard output.
func stdoutAnswer(v any) Output {
	line, err := json.Marshal(v)
	if err != nil {
		// Without a complete answer, most harnesses run the tool.
		return Block("writing the answer: " + err.Error())
	}
	return Output{Stdout: append(line, '\n')}
}
