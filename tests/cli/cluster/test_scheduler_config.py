"""`numafit scheduler-config`: what it prints, and what does not go together."""

import pytest
import yaml

from numafit.__main__ import main

SECOND = ["--second-scheduler=x", "--scheduler-image=example.com/s:1", "--image=example.com/n:1"]


def test_the_configuration_goes_to_the_output_and_its_cost_to_whoever_reads(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["scheduler-config", "--timeout=0.5", "--scheduler=mine"]) == 0
    said = capsys.readouterr()
    content = yaml.safe_load(said.out)
    assert content["kind"] == "KubeSchedulerConfiguration"
    assert content["extenders"][0]["httpTimeout"] == "0.5s"
    assert content["profiles"] == [{"schedulerName": "mine"}]
    assert content["clientConnection"] == {"kubeconfig": "/etc/kubernetes/scheduler.conf"}
    assert "five to six times as long" in said.err


def test_a_second_scheduler_is_a_manifest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scheduler-config", *SECOND, "--offer=4"]) == 0
    objects = list(yaml.safe_load_all(capsys.readouterr().out))
    assert objects[-1]["kind"] == "Deployment"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--url=https://x:1"], "three files"),
        (["--url=https://x:1", "--authority=/a"], "--client-certificate: is missing"),
        (["--image=x"], "--image: goes with --second-scheduler only"),
        (["--second-scheduler=x"], "images of kube-scheduler and of numafit are needed"),
        ([*SECOND, "--url=http://127.0.0.1:1"], "--url: does not go with --second-scheduler"),
        ([*SECOND, "--offer=none"], "neither a number"),
    ],
)
def test_what_does_not_go_together_is_told(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scheduler-config", *words]) == 2
    assert sentence in capsys.readouterr().err
