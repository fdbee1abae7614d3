// Five seconds of the pictures as they move, as a video file: MP4 where the browser writes it, else WebM.

import { ink } from "./palette";
import type { Player } from "./player";

/** A discipline as the video shows it: pictures one below the other. */
export interface Scene {
  title: string;
  colour: string;
  pictures: HTMLCanvasElement[];
}

const SECONDS = 5;
const [WIDTH, HEIGHT, EDGE, HEAD] = [1280, 720, 24, 64];
const RATE = 30;
const TYPES = ["video/mp4;codecs=avc1.42E01F", "video/mp4", "video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm"];

/** The video and the ending of its file's name; while it is recorded the run goes on. */
export async function video(player: Player, title: string, scenes: () => Scene[]): Promise<[Blob, string]> {
  const type = globalThis.MediaRecorder && TYPES.find((one) => MediaRecorder.isTypeSupported(one));
  const canvas = document.createElement("canvas");
  if (!type || !canvas.captureStream) throw new Error("This browser records no video.");
  if (!scenes().some((one) => one.pictures.length)) throw new Error("Nothing is shown here that moves: open Play.");
  if (player.fault) throw new Error(player.fault);
  [canvas.width, canvas.height] = [WIDTH, HEIGHT];
  const pen = canvas.getContext("2d", { alpha: false })!;
  const playing = player.playing;
  if (!playing) player.play();
  draw(pen, title, player, scenes());
  const recorder = new MediaRecorder(canvas.captureStream(RATE), { mimeType: type, videoBitsPerSecond: 5e6 });
  const parts: Blob[] = [];
  let frame = 0;
  try {
    await new Promise<void>((resolve, reject) => {
      recorder.ondataavailable = ({ data }) => parts.push(data);
      recorder.onstop = () => resolve();
      recorder.onerror = () => reject(new Error("The browser could not record the video."));
      let began = Infinity;
      recorder.onstart = () => (began = performance.now());
      let last = 0;
      const tick = (moment: number): void => {
        if (moment - last > 900 / RATE) {
          last = moment;
          draw(pen, title, player, scenes());
        }
        if (performance.now() - began >= 1000 * SECONDS) recorder.stop();
        else frame = requestAnimationFrame(tick);
      };
      recorder.start(500);
      frame = requestAnimationFrame(tick);
    });
  } finally {
    cancelAnimationFrame(frame);
    if (!playing) player.pause();
  }
  return [new Blob(parts, { type }), type.startsWith("video/mp4") ? "mp4" : "webm"];
}

/** The scenes beside each other, two in a row, under the title. */
function draw(pen: CanvasRenderingContext2D, title: string, player: Player, scenes: Scene[]): void {
  const colours = ink();
  pen.fillStyle = colours.ground;
  pen.fillRect(0, 0, WIDTH, HEIGHT);
  pen.textBaseline = "middle";
  pen.fillStyle = colours.text;
  pen.textAlign = "left";
  pen.font = "600 24px system-ui, sans-serif";
  pen.fillText(title, EDGE, HEAD / 2, WIDTH - 2 * EDGE - 130);
  pen.textAlign = "right";
  pen.font = "22px system-ui, sans-serif";
  pen.fillText(`${player.now.toFixed(player.speed < 0.1 ? 3 : 1)} s`, WIDTH - EDGE, HEAD / 2);
  pen.fillStyle = colours.soft;
  pen.font = "16px system-ui, sans-serif";
  pen.fillText("earlydrop playground", WIDTH - EDGE, HEIGHT - 14);
  const columns = Math.min(2, scenes.length);
  const rows = Math.ceil(scenes.length / 2);
  const [wide, tall] = [(WIDTH - EDGE) / columns - EDGE, (HEIGHT - HEAD - 28) / rows];
  scenes.forEach(({ title: name, colour, pictures }, k) => {
    const [left, top] = [EDGE + (k % 2) * (wide + EDGE), HEAD + Math.floor(k / 2) * tall];
    pen.fillStyle = colour;
    pen.fillRect(left, top, wide, 4);
    pen.fillStyle = colours.text;
    pen.textAlign = "left";
    pen.font = "600 20px system-ui, sans-serif";
    pen.fillText(name, left, top + 20, wide);
    // All pictures in the height that is left, with their own proportions.
    const space = tall - 40;
    const whole = pictures.reduce((sum, one) => sum + one.height / Math.max(1, one.width), 0);
    const width = Math.min(wide, space / Math.max(whole, 1e-9));
    let y = top + 36;
    for (const one of pictures) {
      const height = (width * one.height) / Math.max(1, one.width);
      pen.drawImage(one, left + (wide - width) / 2, y, width, height);
      y += height;
    }
  });
}
