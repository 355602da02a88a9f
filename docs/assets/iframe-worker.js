// From the disk a browser starts no worker, so the search of the documentation runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(url) {
      this.frame = Object.assign(document.createElement("iframe"), { hidden: true });
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.document.open();
      inside.document.close();
      inside.postMessage = (data) => setTimeout(() => this.onmessage?.({ data }));
      const script = Object.assign(inside.document.createElement("script"), { src: url });
      this.ready = new Promise((done) => (script.onload = done));
      inside.document.documentElement.append(script);
    }
    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow?.onmessage({ data }));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
