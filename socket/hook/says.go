package hook

import "github.com/go-json-experiment/json"

// stdoutAnswer is an answer on standard output.
func stdoutAnswer(v any) Output {
	line, err := json.Marshal(v)
	if err != nil {
		// Half an answer would be none, and most harnesses then go on.
		return Block("writing the answer: " + err.Error())
	}
	return Output{Stdout: append(line, '\n')}
}
