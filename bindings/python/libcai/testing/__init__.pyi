# SPDX-License-Identifier: BSD-3-Clause
from libcai.testing._cases import Case as Case
from libcai.testing._cases import cases as cases
from libcai.testing._cases import conformance_cases as conformance_cases
from libcai.testing._consumer import ConsumerCase as ConsumerCase
from libcai.testing._consumer import check_consumer as check_consumer
from libcai.testing._consumer import consumer_cases as consumer_cases
from libcai.testing._producer import check_producer as check_producer

__all__ = [
    "Case",
    "ConsumerCase",
    "cases",
    "check_consumer",
    "check_producer",
    "conformance_cases",
    "consumer_cases",
]
