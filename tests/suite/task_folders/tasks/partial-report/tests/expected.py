EXPECTED = {"lines.txt": "4", "errors.txt": "2"}
