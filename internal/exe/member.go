package exe

import (
	"archive/zip"
	"fmt"
	"io"
	"os"
	"strings"
)

// splitMember splits the path of a member of a ZIP archive: "app.apk!/lib/x.so".
func splitMember(path string) (archive, member string, ok bool) {
	return strings.Cut(path, "!/")
}

// OnDisk is the file that a path names or that the member is in which it names.
func OnDisk(path string) string {
	archive, _, _ := splitMember(path)
	return archive
}

// memberData is where in an archive the content of a member is, which has to be
// as the kernel can map it: not compressed, and at the start of a page.
func memberData(archive io.ReaderAt, length int64, member string) (from, size int64, err error) {
	z, err := zip.NewReader(archive, length)
	if err != nil {
		return 0, 0, fmt.Errorf("no ZIP archive: %w", err)
	}
	for _, f := range z.File {
		if f.Name != member {
			continue
		}
		at, err := f.DataOffset()
		switch {
		case err != nil:
			return 0, 0, fmt.Errorf("%s in it is malformed: %w", member, err)
		case f.Method != zip.Store:
			return 0, 0, fmt.Errorf("%s in it is compressed: processes cannot run it from there", member)
		case at%int64(os.Getpagesize()) != 0:
			return 0, 0, fmt.Errorf("%s in it does not begin with a page: processes cannot run it from there", member)
		case at < 0 || at > length || f.UncompressedSize64 > uint64(length-at):
			return 0, 0, fmt.Errorf("%s in it is cut off", member)
		}
		return at, int64(f.UncompressedSize64), nil
	}
	return 0, 0, fmt.Errorf("there is no %s in it", member)
}
