# SPDX-License-Identifier: Apache-2.0
"""Frameworks and devices that many tests need and that a machine may lack: tests that are skipped for want of one give one of the reasons
below, and the run of all tests ends with a line for each that was missing (tests/run.sh adds why)."""
from __future__ import annotations

from collections import Counter

# what the reason of a skip has in it, and what that is a lack of
LACKS = {
    "SONDE_FAKE_CUDA is not set": "CUDA",
    "no PyTorch for CUDA": "PyTorch for CUDA",
    "of PyTorch for CUDA one program is run": "more of PyTorch for CUDA",
    "other releases of CUPTI": "other releases of CUPTI",
    "no CUPTI ": "other releases of CUPTI",
    "no fake ROCm": "HIP",
    "no fake Level Zero": "Level Zero",
    "no Python with Intel's SYCL": "SYCL",
    "no collector of OpenTelemetry": "a collector of OpenTelemetry",
    "no Python with opentelemetry-proto": "the schema of OTLP profiles",
    "no Python with jax": "JAX",
    "no Python with tensorflow": "TensorFlow",
}


def summary(reasons: list[str]) -> list[str]:
    """A line for each that was missing, by the reasons why tests were skipped."""
    lacks = Counter(next((lack for text, lack in LACKS.items() if text in reason), "") for reason in reasons)
    return [f"{count} tests were not run for want of {lack}" for lack, count in sorted(lacks.items()) if lack]
