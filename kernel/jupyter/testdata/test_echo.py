"""The echo kernel of python_test.go under Jupyter's own clients: jupyter_client, jupyter_kernel_test and nbclient.

python_test.go installs the kernelspec "echo-test" and runs this file.
"""
import json
import os
import time
import unittest

import jupyter_kernel_test
import nbformat
from jupyter_client.manager import KernelManager, start_new_kernel
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

KERNEL = "echo-test"
PATIENCE = 60


class Conformance(jupyter_kernel_test.KernelTests):
    kernel_name = KERNEL
    language_name = "echo"
    file_extension = ".echo"
    code_hello_world = "print hello, world"
    code_stderr = "eprint test"
    completion_samples = [
        {"text": "pri", "matches": {"print"}},
        {"text": "p", "matches": {"print", "page", "password"}},
    ]
    complete_code_samples = ["print a"]
    incomplete_code_samples = ["print a\\"]
    invalid_code_samples = [")"]
    code_page_something = "page some help"
    code_generate_error = "fail now"
    code_execute_result = [{"code": "result 3", "result": "3"}, {"code": "result 4", "result": "4"}]
    code_display_data = [{"code": "display d <b>x</b>", "mime": "text/html"}]
    code_history_pattern = "result 3"
    supported_history_operations = ("tail", "range", "search")
    code_inspect_sample = "print"
    code_clear_output = "clear"


class Client(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.km, cls.kc = start_new_kernel(kernel_name=KERNEL)

    @classmethod
    def tearDownClass(cls):
        cls.kc.stop_channels()
        cls.km.shutdown_kernel()

    def iopub(self, msg_id):
        """What a request publishes, from its busy to its idle."""
        got = []
        while True:
            m = self.kc.get_iopub_msg(timeout=PATIENCE)
            if m["parent_header"].get("msg_id") != msg_id:
                continue
            if m["msg_type"] == "status":
                got.append(m["content"]["execution_state"])
                if got[-1] == "idle":
                    return got
            else:
                got.append(m["msg_type"])

    def reply(self, msg_id):
        while True:
            m = self.kc.get_shell_msg(timeout=PATIENCE)
            if m["parent_header"].get("msg_id") == msg_id:
                return m["content"]

    def running(self, msg_id):
        """Wait until a cell has begun."""
        while True:
            m = self.kc.get_iopub_msg(timeout=PATIENCE)
            if m["parent_header"].get("msg_id") == msg_id and m["msg_type"] == "execute_input":
                return

    def test_brackets(self):
        i = self.kc.execute("print a\nresult 1")
        self.assertEqual(self.reply(i)["status"], "ok")
        self.assertEqual(self.iopub(i), ["busy", "execute_input", "stream", "execute_result", "idle"])

    def test_stdin(self):
        i = self.kc.execute("input who?", allow_stdin=True)
        q = self.kc.get_stdin_msg(timeout=PATIENCE)
        self.assertEqual(q["content"], {"prompt": "who?", "password": False})
        self.kc.input("Grace")
        self.assertEqual(self.reply(i)["status"], "ok")

    def test_interrupt(self):
        i = self.kc.execute("hold a")
        self.running(i)
        j = self.kc.complete("pri")
        self.assertEqual(self.reply(j)["matches"], ["print"])
        self.km.interrupt_kernel()
        self.assertEqual(self.reply(i)["ename"], "Interrupted")

    def test_abort(self):
        ids = [self.kc.execute(c) for c in ("hold a", "print b", "print c")]
        self.running(ids[0])
        self.km.interrupt_kernel()
        got = [self.reply(i)["status"] for i in ids]
        self.assertEqual(got, ["error", "aborted", "aborted"])

    def test_comm(self):
        session = self.kc.session
        m = session.msg("comm_open", {"comm_id": "x", "target_name": "nobody", "data": {}})
        self.kc.shell_channel.send(m)
        self.assertEqual(self.iopub(m["header"]["msg_id"]), ["busy", "comm_close", "idle"])
        m = session.msg("comm_open", {"comm_id": "x", "target_name": "echo", "data": {}})
        self.kc.shell_channel.send(m)
        self.iopub(m["header"]["msg_id"])
        m = session.msg("comm_msg", {"comm_id": "x", "data": {"a": 1}})
        session.send(self.kc.shell_channel.socket, m, buffers=[b"\x00\x01", b"two"])
        while True:
            back = self.kc.get_iopub_msg(timeout=PATIENCE)
            if back["msg_type"] == "comm_msg":
                break
        self.assertEqual([bytes(b) for b in back["buffers"]], [b"\x00\x01", b"two"])

    def test_much_output(self):
        i = self.kc.execute("flood 10000000")
        size = 0
        while True:
            m = self.kc.get_iopub_msg(timeout=PATIENCE)
            if m["parent_header"].get("msg_id") != i:
                continue
            if m["msg_type"] == "stream":
                size += len(m["content"]["text"])
            if m["content"].get("execution_state") == "idle":
                break
        self.assertEqual(size, 10_000_000)

    def test_heartbeat(self):
        self.kc.hb_channel.unpause()
        self.assertTrue(self.kc.is_alive())


class Lifecycle(unittest.TestCase):
    def test_restart_and_shutdown(self):
        km, kc = start_new_kernel(kernel_name=KERNEL)
        try:
            kc.execute("result 1", reply=True, timeout=PATIENCE)
            km.restart_kernel()
            kc.wait_for_ready(timeout=PATIENCE)
            again = kc.execute("result 1", reply=True, timeout=PATIENCE)
            self.assertEqual(again["content"]["execution_count"], 1)
            provisioner = km.provisioner
            kc.shutdown()
            deadline = time.monotonic() + PATIENCE
            while provisioner.process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.01)
            self.assertEqual(provisioner.process.poll(), 0)
        finally:
            kc.stop_channels()
            km.shutdown_kernel(now=True)

    def test_shutdown_of_a_busy_kernel(self):
        km, kc = start_new_kernel(kernel_name=KERNEL)
        process = km.provisioner.process
        kc.execute("hold a")
        km.shutdown_kernel()
        kc.stop_channels()
        self.assertEqual(process.poll(), 0)

    def test_starting_comes_once_and_first(self):
        km = KernelManager(kernel_name=KERNEL)
        km.start_kernel()
        pid = km.provisioner.pid
        kc = km.client()
        kc.start_channels()
        try:
            kc.wait_for_ready(timeout=PATIENCE)
        finally:
            kc.stop_channels()
            km.shutdown_kernel()
        with open(os.path.join(os.environ["JUPYTER_TEST_LOG_DIR"], f"messages-{pid}.jsonl")) as log:
            sent = [json.loads(line) for line in log]
        states = [m["content"]["execution_state"] for m in sent if m["header"]["msg_type"] == "status"]
        self.assertEqual(states[0], "starting")
        self.assertEqual(states.count("starting"), 1)


class Notebook(unittest.TestCase):
    def run_cells(self, *cells, **options):
        nb = nbformat.v4.new_notebook()
        nb.metadata["kernelspec"] = {"name": KERNEL, "display_name": "Echo", "language": "echo"}
        nb.cells = [nbformat.v4.new_code_cell(c) for c in cells]
        NotebookClient(nb, timeout=PATIENCE, kernel_name=KERNEL, **options).execute()
        return nb

    def test_outputs(self):
        nb = self.run_cells("print a", "display d one\nupdate d two", "result 3", "")
        self.assertEqual(nb.cells[0].outputs[0].text, "a\n")
        self.assertEqual(nb.cells[1].outputs[0].data["text/plain"], "two")
        self.assertEqual(nb.cells[2].outputs[0].data["text/plain"], "3")
        self.assertEqual([c.execution_count for c in nb.cells[:3]], [1, 2, 3])

    def test_error_stops(self):
        with self.assertRaises(CellExecutionError):
            self.run_cells("fail", "print never")

    def test_errors_allowed(self):
        nb = self.run_cells("fail", "print on", allow_errors=True)
        self.assertEqual(nb.cells[1].outputs[0].text, "on\n")


if __name__ == "__main__":
    unittest.main()
