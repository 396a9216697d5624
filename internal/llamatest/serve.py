# Serves a model file on a free port of this machine until standard input ends.
# The OpenAI API is that of llama.cpp; the first line printed is its address.
import sys

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.model_alias = "tiny" if isinstance(params.model_alias, str) else ["tiny"]
params.port = 0
params.n_ctx = 4096
params.n_parallel = 4
params.n_predict = 256
params.n_gpu_layers = 0
params.cpuparams.n_threads = 1  # several wait for one another in a loop, for seconds where others are busy too
params.cpuparams_batch.n_threads = 1
params.warmup = False
params.use_jinja = True
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
