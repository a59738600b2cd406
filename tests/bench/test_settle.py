import threading

from bench.settle import settle


def test_a_directory_where_nothing_happens_has_settled(tmp_path):
    (tmp_path / "table").write_bytes(b"x")

    assert settle(tmp_path, 0.03) == 0.0


def test_work_that_goes_on_is_waited_for(tmp_path):
    working = threading.Event()

    def work():
        for number in range(10):
            (tmp_path / f"{number}.sst").write_bytes(b"x")
            working.set()
            threading.Event().wait(0.02)

    worker = threading.Thread(target=work)
    worker.start()
    working.wait()
    took = settle(tmp_path, 0.3)

    assert not worker.is_alive() and took > 0
    worker.join()
