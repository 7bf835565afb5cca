package runs

import "github.com/permd/permd/internal/wordset"

// runnerWords are words with the same meaning to all test runners that know them: run
// once, the amount of output, run in one process.
var runnerWords = wordset.Fields(`
	--watch=false --watchAll=false --no-watch --run --ci --silent --quiet --verbose --bail --coverage --no-coverage --passWithNoTests
	--runInBand --color --no-color --watch=0 --reporter=dot --reporter=verbose`)
