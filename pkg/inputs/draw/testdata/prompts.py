"""Write a batch job of the shape of the default profile with Python's faker.

The alternative that BenchmarkFaker stands beside BenchmarkTrial: 32 system prompts of
2,048 tokens, prompts of a log-normal length with mean 1,500, one token taken for four
characters, as the benchmark of llm-d's batch gateway has it. usage: prompts.py REQUESTS OUT
Prints the number of tokens of the user messages.
"""

import json
import math
import random
import sys

from faker import Faker

CHARACTERS = 4  # a token


def text(fake, tokens):
    wanted = tokens * CHARACTERS
    parts, length = [], 0
    while length < wanted:
        part = fake.text(max_nb_chars=max(200, min(wanted - length, 2000)))
        parts.append(part)
        length += len(part) + 1
    return " ".join(parts)[:wanted]


def lognormal(rng, mean, sd, low, high):
    variance = math.log(1 + (sd / mean) ** 2)
    drawn = rng.lognormvariate(math.log(mean) - variance / 2, math.sqrt(variance))
    return round(min(max(drawn, low), high))


def main(requests, out):
    fake, rng = Faker(), random.Random(42)
    fake.seed(42)
    systems = [text(fake, 2048) for _ in range(32)]
    tokens = 0
    with open(out, "w") as lines:
        for i in range(requests):
            isl, osl = lognormal(rng, 1500, 1200, 10, 4096), lognormal(rng, 500, 400, 10, 2048)
            tokens += isl
            body = {
                "model": "Qwen/Qwen3-8B",
                "messages": [
                    {"role": "system", "content": systems[i % len(systems)]},
                    {"role": "user", "content": text(fake, isl)},
                ],
                "max_tokens": osl,
            }
            line = {"custom_id": f"A-{i:06d}", "method": "POST", "url": "/v1/chat/completions", "body": body}
            lines.write(json.dumps(line) + "\n")
    print(tokens)


main(int(sys.argv[1]), sys.argv[2])
